# Two commands matter on a fresh machine: `make run` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
Q ?= giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không
ASKER ?=
# One more than two cores: a quarter of the time a test waits for a process to start or a lease to end.
TESTERS ?= 3
APT := -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 -o DPkg::Lock::Timeout=30
# Not compiled: of 12,000 files few are imported, and those are compiled then.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Handed over in the environment: no question can break out of its quotes.
export Q ASKER

.DEFAULT_GOAL := help
.PHONY: chromium nginx tesseract dovecot help run ask test test-fast test-browser screenshots mutate-guards trust check lint format docs reference bench eval chaos lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.runtime: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing requirements.lock (first run only)"
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	@echo "installing requirements-dev.lock (first run only)"
	@$(INSTALL) --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

run: $(VENV)/.runtime ## start everything: database, migrations, seed data, API and chat page
	@$(BIN)/conclave serve --port $(PORT)

ask: $(VENV)/.runtime ## one question in the terminal: make ask Q="..." ASKER=tenant/user
	@$(BIN)/conclave ask "$$Q" --as "$$ASKER"

# Debian's package, where it is missing and may be installed; the tests of pages are skipped without it.
chromium:
	@for name in $$CONCLAVE_CHROMIUM chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v $$name >/dev/null && exit 0; done; \
	echo "installing Chromium for the tests of the pages (only where it is missing)"; \
	timeout 400 sh -c 'apt-get $(APT) update && apt-get $(APT) install -y --no-install-recommends chromium' >/dev/null 2>&1 \
		|| echo "no Chromium on this machine, and none could be installed: the tests of the pages are skipped"

# Unpacked, not installed: Debian would start it as a service.
nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || test -x $(VENV)/nginx/usr/sbin/nginx || { \
		mkdir -p $(VENV)/nginx && cd $(VENV)/nginx && echo "fetching nginx for the tests of proxies (only where it is missing)" && \
		timeout 120 sh -c 'apt-get $(APT) download nginx && dpkg -x nginx_*.deb .' >/dev/null 2>&1 \
		|| echo "no nginx on this machine, and none could be fetched: the tests of proxies are skipped"; }

# Unpacked, not installed; with the font that pages are set in before they are recognised.
tesseract: chromium
	@ldconfig -p | grep -q 'libtesseract\.so' || test -d $(VENV)/tesseract/usr || { \
		mkdir -p $(VENV)/tesseract && cd $(VENV)/tesseract && echo "fetching Tesseract for the tests of scans (only where it is missing)" && \
		timeout 200 sh -c 'named() { apt-get -s install --no-install-recommends libtesseract5 tesseract-ocr-eng tesseract-ocr-vie; }; \
			named || apt-get $(APT) update; \
			apt-get $(APT) download fonts-dejavu-core $$(named | sed -n "s/^Inst \([^ ]*\).*/\1/p") && \
			for one in *.deb; do dpkg -x $$one . || exit 1; done' >/dev/null 2>&1 \
		|| echo "no Tesseract on this machine, and none could be fetched: the tests of scans are skipped"; }

# Unpacked too: the tests start its one program for a connection, and no service.
dovecot: tesseract
	@test -x /usr/lib/dovecot/imap || test -d $(VENV)/dovecot/usr || { \
		mkdir -p $(VENV)/dovecot && cd $(VENV)/dovecot && echo "fetching Dovecot for the tests of mailboxes (only where it is missing)" && \
		timeout 120 sh -c 'apt-get $(APT) download dovecot-core dovecot-imapd && \
			for one in *.deb; do dpkg -x $$one . || exit 1; done' >/dev/null 2>&1 \
		|| echo "no Dovecot on this machine, and none could be fetched: the tests of mailboxes are skipped"; }

installed: $(VENV)/.dev chromium nginx tesseract dovecot

# Packages and browser are fetched side by side: neither needs the other.
test: ## install what tests need and run all of them
	@$(MAKE) --no-print-directory -j 2 installed
	@$(BIN)/python -m pytest -n $(TESTERS) --dist loadgroup --durations 25

test-fast: $(VENV)/.dev ## a minute's worth, for every commit: no service, no model, no process of its own
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -q --fast tests/unit

test-browser: $(VENV)/.dev chromium ## the chat page in this machine's Chromium
	@$(BIN)/python -m pytest tests/browser

screenshots: $(VENV)/.dev ## the pictures of docs/screenshots, chat and admin pages, made anew
	@CONCLAVE_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest -q tests/browser -k "Pictures or Company"

mutate-guards: $(VENV)/.dev ## take one guard away at a time in a copy and expect its test to fail (half an hour)
	@$(BIN)/python -m tests.mutation -j 2

trust: $(VENV)/.dev ## the 23 goals of trust: limit, measured, pass (half an hour and more; NIGHTLY=1 tries all there is, for hours)
	@$(BIN)/python -m bench.trust $(if $(NIGHTLY),--nightly)

lint: $(VENV)/.dev ## format check, lint, types, import contract
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test ## everything CI runs, and lint

format: $(VENV)/.dev ## format and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(VENV)/.dev ## the documentation site, in build/site; a broken link stops it
	@$(BIN)/zensical build --strict

reference: $(VENV)/.dev ## the pages of docs/reference and the pictures, made anew from the code
	@$(BIN)/python -m reference

bench: $(VENV)/.dev ## measure start-up, the flow, documents coming in, and search at size against bare floors
	@$(BIN)/python -m bench.startup
	@$(BIN)/python -m bench.flow
	@$(BIN)/python -m bench.models
	@$(BIN)/python -m bench.ingest
	@$(BIN)/python -m bench.size
	@$(BIN)/python -m bench.outage
	@$(BIN)/python -m bench.hops
	@$(BIN)/python -m bench.workers
	@$(BIN)/python -m bench.telemetry
	@$(BIN)/python -m bench.verdicts

eval: $(VENV)/.dev ## how well passages are found, questions understood and answered, in both languages
	@$(BIN)/python -m bench.retrieval
	@$(BIN)/python -m bench.intent
	@$(BIN)/python -m bench.answers
	@$(BIN)/python -m bench.arithmetic
	@$(BIN)/python -m bench.conflicts
	@$(BIN)/conclave eval run
	@$(BIN)/conclave eval gaia smoke
	@$(BIN)/conclave eval gaia held

chaos: $(VENV)/.dev ## a storm over many processes (11 minutes), limits in seconds, then the whole of what the tests draw a part of (100)
	@$(BIN)/python -m tests.chaos
	@CONCLAVE_EXACT_LIMITS=1 $(BIN)/python -m pytest $$(grep -rlE '^from tests.limits' tests)
	@CONCLAVE_WHOLE=1 $(BIN)/python -m pytest --timeout 3600 $$(grep -rlE '^from tests.samples' --include='test_*.py' tests)

lock: ## write both lock files anew (needs uv)
	uv pip compile pyproject.toml --extra faces --extra python --extra servers --extra readers --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header -o requirements.lock
	uv pip compile pyproject.toml --extra dev --extra training --extra faces --extra python --extra servers --extra readers --extra web --extra connectors --extra telemetry --extra docs -c requirements.lock --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header -o requirements-dev.lock

clean: ## remove the environment and the embedded database
	rm -rf $(VENV) .conclave
