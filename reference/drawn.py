"""The pictures of the pages. What the code knows (weights, factors, stages) is taken from it."""

from collections.abc import Callable

from app.domain.answer import ResolutionRules
from app.settings import Settings
from reference.drawing import Drawing


def question() -> str:
    """A question on its way through the house."""
    drawing = Drawing(960, 442, "A question goes from the door over the registry to a worker, through the flow, and "
                                "comes back as events of the journal.")  # fmt: skip
    drawing.box("caller", 40, 40, 150, "caller", "question + token", "page, program, CLI")
    drawing.box("api", 230, 40, 190, "api", "token → principal", "limits, idempotency key")
    drawing.box("registry", 480, 40, 210, "task registry", "task, session and job:", "one transaction", tone="main")
    drawing.box("worker", 750, 40, 186, "worker", "claims by attempt", "renews its lease")
    drawing.frame(40, 158, 896, 166, "the flow: settled before any text is read, then carried out")
    drawing.box("orchestrator", 54, 212, 150, "orchestrator", "what kind, who may", "be asked with what")
    drawing.box("router", 224, 212, 160, "reflection router", "plan: tiers, steps;", "reviewed")
    for n, name in enumerate(("hr", "it", "general")):
        drawing.box(name, 430, 184 + 46 * n, 92, name, tone="main")
    drawing.box("resolver", 566, 212, 170, "conflict resolution", "sources weighed", "in the open")
    drawing.box("response", 770, 212, 150, "final response", "answer, evidence", "or “not found”")
    drawing.box("journal", 230, 362, 460, "journal in PostgreSQL", "numbered events, exactly one of them ends the run",
                tone="good")  # fmt: skip
    drawing.arrow("caller.right", "api.left")
    drawing.arrow("api.right", "registry.left")
    drawing.arrow("registry.right", "worker.left", "queue")
    drawing.arrow("worker.bottom", "orchestrator.top", via=[(843, 130), (129, 130)])
    drawing.arrow("orchestrator.right", "router.left")
    for name in ("hr", "it", "general"):
        drawing.arrow("router.right", f"{name}.left")
        drawing.arrow(f"{name}.right", "resolver.left")
    drawing.arrow("resolver.right", "response.left")
    drawing.arrow("response.bottom", "journal.right", via=[(845, 387.5)], label="every step", at=(780, 380))
    drawing.arrow("journal.left", "caller.left", "followed, resumed, replayed", via=[(16, 387.5), (16, 74)],
                  at=(118, 408), dashed=True)  # fmt: skip
    return drawing.svg()


def rights() -> str:
    """Who may read what."""
    drawing = Drawing(860, 300, "Same tenant, then the scope is held, then for private texts the own department or "
                                "general; otherwise the text does not exist for the asker.")  # fmt: skip
    drawing.box("tenant", 24, 50, 170, "same tenant?", "from the token alone", tone="main")
    drawing.box("scope", 242, 50, 170, "scope held?", "public internal private", tone="main")
    drawing.box("private", 460, 50, 130, "private?", "of the text", tone="main")
    drawing.box("own", 638, 50, 198, "own department?", "general belongs to all", tone="main")
    drawing.box("no", 202, 170, 250, "it does not exist", "not found, not counted, not hinted", tone="bad")
    drawing.box("yes", 480, 170, 220, "may be read", "found, quoted, weighed", tone="good")
    drawing.arrow("tenant.right", "scope.left", "yes")
    drawing.arrow("scope.right", "private.left", "yes")
    drawing.arrow("private.right", "own.left", "yes")
    drawing.arrow("private.bottom", "yes.top-65", "no", at=(540, 138))
    drawing.arrow("own.bottom", "yes.right", "yes", via=[(737, 195.5)], at=(755, 150))
    drawing.arrow("tenant.bottom", "no.left", "no", via=[(109, 195.5)], at=(94, 150))
    drawing.arrow("scope.bottom", "no.top", "no", at=(340, 138))
    drawing.arrow("own.bottom+60", "no.bottom", "no", via=[(797, 248), (327, 248)], at=(813, 150))
    drawing.note(24, 280, "The rule stands three times: in the principal, in the row policies of the database, and in "
                          "every query.")  # fmt: skip
    return drawing.svg()


def weighing() -> str:
    """Two sources and their scores, reckoned with the default weights."""
    weights = Settings.model_fields["resolution_weights"].get_default()
    rules = ResolutionRules()
    newer, older = _recency(rules)
    public = rules.priority_by_scope["public"]
    sides = {
        "Annual leave policy 2026: 14 days": (1.0, public, newer, 1.0),
        "News of the leave portal: 12 days": (1.0, public, older, 1.0),
    }
    drawing = Drawing(860, 348, "Two sources that disagree are scored by domain, scope, recency and relevance; the "
                                "margin decides whether one wins or both are shown.")  # fmt: skip
    scores = []
    for n, (title, factors) in enumerate(sides.items()):
        x = 24 + 418 * n
        scores.append(sum(weights[name] * factor for name, factor in zip(weights, factors, strict=True)))
        drawing.box(f"side{n}", x, 24, 394, title, tone="good" if n == 0 else "box")
        for row, (name, factor) in enumerate(zip(weights, factors, strict=True)):
            y = 88 + 26 * row
            drawing.note(x, y, name)
            drawing.bar(x + 78, y - 9, 170, factor)
            drawing.note(x + 260, y, f"{factor:g} × {weights[name]:g} = {factor * weights[name]:.3f}")
        drawing.note(x, 202, f"score {scores[n]:.2f}", "title")
    margin, threshold = scores[0] - scores[1], Settings.model_fields["conflict_resolution_threshold"].get_default()
    drawing.box("margin", 255, 216, 350, f"margin {margin:.2f}", f"threshold {threshold:g}", tone="main")
    drawing.box("one", 24, 290, 390, "from the threshold on: one holds, both are cited", tone="good")
    drawing.box("both", 446, 290, 390, "below it: both are shown, none is chosen", tone="warn")
    drawing.arrow("margin.left", "one.top", via=[(219, 241)])
    drawing.arrow("margin.right", "both.top", via=[(641, 241)], dashed=True)
    return drawing.svg()


def _recency(rules: ResolutionRules) -> tuple[float, float]:
    steps = sorted(rules.priority_by_recency.values(), reverse=True)
    return steps[0], steps[-1]


def deep() -> str:
    """The graph of the deep flow; each arrow stands in the compiled one."""
    drawing = Drawing(860, 392, "The orchestrator delegates to planner, researcher, expert and critic, which report "
                                "back to it, and ends in the finalizer.")  # fmt: skip
    drawing.box("__start__", 24, 39.5, 90, "start")
    drawing.box("input_interface", 160, 31, 190, "input_interface", "language, files, day")
    drawing.box(
        "orchestrator", 400, 22, 220, "orchestrator", "next stage: a pure function", "of the state", tone="main"
    )
    drawing.box("finalizer", 668, 31, 168, "finalizer", "answer and trace")
    drawing.box("__end__", 707, 120, 90, "end", tone="good")
    agents = {
        "planner": ("atomic steps,", "or another plan"),
        "researcher": ("one step after", "the other, with tools"),
        "expert": ("works it out", "with sums and dates"),
        "critic": ("approves, or sends", "back with a reason"),
    }
    for n, (name, lines) in enumerate(agents.items()):
        x = 24 + 206 * n
        drawing.box(name, x, 270, 190, name, *lines)
        down, up = x + 70, x + 120
        drawing.arrow("orchestrator.bottom-15", f"{name}.top-25", via=[(495, 190), (down, 190)], dashed=True)
        drawing.arrow(f"{name}.top+25", "orchestrator.bottom+15", via=[(up, 225), (525, 225)])
    drawing.arrow("__start__.right", "input_interface.left")
    drawing.arrow("input_interface.right", "orchestrator.left")
    drawing.arrow("orchestrator.right", "finalizer.left", dashed=True)
    drawing.arrow("finalizer.bottom", "__end__.top")
    drawing.note(24, 374, "Dashed: one of several. The state is kept after every visit of the orchestrator and every "
                          "tool call.")  # fmt: skip
    return drawing.svg()


def stages() -> str:
    """A document from its arrival to its answers."""
    drawing = Drawing(960, 286, "A document is received with its rights, parsed in a killable process, chunked, "
                                "embedded and published in one commit; then its health is checked.")  # fmt: skip
    drawing.box("received", 24, 40, 164, "received", "rights, true kind,", "original: one commit")
    drawing.box("parsing", 212, 40, 172, "parsing", "a process without", "files and network")
    drawing.box("chunking", 408, 40, 150, "chunking", "by headings,", "in tokens")
    drawing.box("embedding", 582, 40, 160, "embedding", "batch by batch,", "kept by content")
    drawing.box("publish", 766, 40, 170, "publish", "new appears, old", "goes: one commit", tone="main")
    drawing.box("failed", 212, 176, 346, "failed", "a code and advice; the version before stays", tone="bad")
    drawing.box("ready", 766, 184, 170, "ready or partial", "found from now on", tone="good")
    drawing.box("health", 582, 176, 160, "health", "contradictions,", "duplicates, days", tone="warn")
    for one, other in (("received", "parsing"), ("parsing", "chunking"), ("chunking", "embedding"),
                       ("embedding", "publish")):  # fmt: skip
        drawing.arrow(f"{one}.right", f"{other}.left")
    drawing.arrow("publish.bottom", "ready.top")
    drawing.arrow("ready.left", "health.right")
    drawing.arrow("parsing.bottom", "failed.top", via=[(298, 140), (385, 140)], dashed=True)
    drawing.arrow("chunking.bottom", "failed.top", via=[(483, 140), (385, 140)], dashed=True)
    drawing.note(24, 268, "A process that dies is replaced: the next one goes on at the last finished stage and batch.")
    return drawing.svg()


def mark() -> str:
    """The sign of the site, white on its bar."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4d9cc2" stroke-width="1.8">'
        '<circle cx="12" cy="12" r="10"/><g fill="#4d9cc2"><circle cx="12" cy="7" r="2.2"/>'
        '<circle cx="7.6" cy="14.6" r="2.2"/><circle cx="16.4" cy="14.6" r="2.2"/></g>'
        '<path d="M12 9.2v2.6m-2.6 1.5 1.3-.8m3.9.8-1.3-.8"/></svg>'
    )


PICTURES: dict[str, Callable[[], str]] = {
    "question": question,
    "rights": rights,
    "weighing": weighing,
    "deep": deep,
    "stages": stages,
    "mark": mark,
}
