"""Every setting of the service, one field a variable; the defaults are the embedded single-machine service.

Read from the environment with the prefix ``CONCLAVE_`` and from ``.env``. Only `app.main` and `app.cli` import this.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.domain.answer import ResolutionRules
from app.domain.conflicts import normalised


class Settings(BaseSettings):
    """What an operator may change; units are in the names."""

    model_config = SettingsConfigDict(env_prefix="CONCLAVE_", env_file=".env", extra="ignore", frozen=True)

    data_dir: Path = Path(".conclave")
    """Where the embedded database, caches and the development secret live."""
    min_free_bytes: int = Field(268_435_456, ge=0)
    """With less room where ``data_dir`` lies the service is not ready."""
    seed_dir: Path = Path("seed_data")
    """Documents, users and logs of the demo companies, brought in at the first start with the embedded database."""
    default_user: str = ""
    """``tenant/user`` that a command without ``--as`` asks as; empty = the demo's default asker, or the only one."""
    default_tenant: str = ""
    """Whose documents and logs the command line means where ``--tenant`` names none; empty = the default user's, or the
    only one there is."""
    serve_address: str = ""
    """Where this server listens; `conclave serve` sets it for its own processes, which then leave a private socket in
    ``data_dir`` for the command line."""
    agents_dir: Path | None = None
    """A folder of further agent YAML files; one file adds a department."""
    remote_agents: frozenset[str] = frozenset()
    """Agents whose steps workers elsewhere do, besides those whose file says ``remote: true``; the same everywhere."""

    database_url: SecretStr = SecretStr("")
    """``postgresql://…`` of the *app* role; empty = the embedded server."""
    database_owner_url: SecretStr = SecretStr("")
    """Role that migrates; empty = somebody else migrates this database."""
    database_operator_url: SecretStr = SecretStr("")
    """Member of ``conclave_maintenance`` that makes tenants and users; empty = ``database_owner_url``."""
    backup_database_url: SecretStr = SecretStr("")
    """Superuser that copies a whole external database for `conclave backup`, and fills an empty one for `restore`."""
    backup_passphrase: SecretStr = SecretStr("")
    """Of backups, at least 12 characters; empty = `conclave backup` and `restore` ask for it."""
    database_pool_size: int = Field(10, ge=2, le=200)
    """Connections of one process; its queues and notifications take up to ten more."""

    bus_url: SecretStr = SecretStr("")
    """Carries wake-ups between processes: ``redis://…``, ``rediss://…``, ``unix://…``; empty = PostgreSQL's NOTIFY."""
    worker_in_process: bool = True
    """Whether a server also runs questions and documents; false = ``conclave worker`` does it."""
    worker_max_concurrent_runs: int = Field(20, ge=2)
    """Runs at a time in one process."""
    max_open_runs_per_user: int = Field(10, ge=1)
    """Questions of one person that are being answered at a time; more are refused with 429."""
    max_running_per_user: int = Field(0, ge=0)
    """Those of them that one process works on at a time, while the others wait; 0 = 1, with a model 5."""
    max_open_runs_per_tenant: int = Field(200, ge=1)
    """The same for all people of a tenant together."""
    max_open_runs: int = Field(1_000, ge=1)
    """The same for the whole service; more are refused with 503."""
    max_wait_seconds: float = Field(0.0, ge=0)
    """A question that would wait longer before it begins is refused with 503; 0 = its deadline decides."""
    tenant_weights: dict[str, Annotated[int, Field(ge=1, le=1_000)]] = {}
    """How often a tenant's turn comes among the others, as JSON: ``{"hospital": 3}``; 1 for all that are not named."""
    worker_silence_seconds: float = Field(20.0, ge=1)
    """A loop of the worker that gives no sign of life for so long is started anew; the second time in a row the process
    of `conclave worker` ends with exit code 1."""

    llm_base_url: str = ""
    """Any OpenAI-compatible endpoint; empty together with an empty ``llm_model`` = no model, the rules answer."""
    llm_api_key: SecretStr = SecretStr("")
    """Sent to the endpoint; empty = none."""
    llm_model: str = ""
    """Its name at the endpoint."""
    llm_small_model: str = ""
    """Asked when the first model fails; empty = none, the rules follow at once."""
    llm_small_base_url: str = ""
    """Empty = ``llm_base_url``."""
    llm_small_api_key: SecretStr = SecretStr("")
    """Empty = ``llm_api_key``, where the address is the same."""
    local_models: bool = True
    """Whether the model `conclave model use` named is served and asked where no other one is configured."""
    llm_answer_mode: Literal["model", "strict"] = "model"
    """``model``: it plans, and writes the answer from the best passages of all departments, each statement held against
    them. ``strict``: it plans and picks quotes, and every sentence of the answer is one of them."""
    llm_profile: Literal["full", "small"] = "full"
    """``small``, for models on a CPU: the rules plan, and the model writes the answer in one call with a prompt of
    1,200 tokens at most. A model of `conclave model use` is taken for one where nothing else is set."""
    llm_thinking_tokens: int = Field(0, ge=0, le=100_000)
    """Room for a model that thinks before it answers, beside that of its answers. Thoughts are never shown."""
    llm_reasoning_effort: Literal["", "minimal", "low", "medium", "high"] = ""
    """How long it thinks, for endpoints that can be told; empty = as it likes."""
    llm_extra_body: dict[str, JsonValue] = {}
    """Further fields of every request to the models, as JSON:
    ``{"chat_template_kwargs": {"enable_thinking": false}}``."""
    llm_first_token_seconds: float = Field(20.0, gt=0)
    """A model that has said nothing for so long has failed."""
    llm_between_tokens_seconds: float = Field(10.0, gt=0)
    """A model that stops in the middle for so long has failed."""
    llm_call_seconds: float = Field(60.0, gt=0)
    """For one call in all."""
    llm_prompt_price: float = Field(0.0, ge=0)
    """Per million tokens, in your currency; only for the records."""
    llm_completion_price: float = Field(0.0, ge=0)
    """The same for what the model writes."""

    connectors_file: Path | None = None
    """YAML: which hosts, folders and secrets the connectors of each tenant may use; unset = none."""
    mcp_servers: Path | None = None
    """A YAML file of further MCP servers; their pinned tool lists lie beside it."""
    web_allowed_hosts: frozenset[str] = frozenset()
    """Hosts the web tools may reach (``.company.com`` = every host below it); empty = they are off."""
    web_private_hosts: frozenset[str] = frozenset()
    """Those among them that may lie in a private network."""
    wikipedia_base_url: str = "https://{lang}.wikipedia.org/w/api.php"
    """Another encyclopedia's ``api.php``; ``{lang}`` becomes the asker's language."""
    search_url: str = ""
    """A SearXNG search engine that deep questions may ask (``http://127.0.0.1:8888``); empty = none."""
    attachment_max_bytes: int = Field(10_485_760, ge=1024)
    """Of a file attached to a question."""

    embedding_base_url: str = ""
    """Empty = the bundled multilingual-e5-small."""
    embedding_model: str = ""
    """Its name at that endpoint."""
    embedding_api_key: SecretStr = SecretStr("")
    """Sent to that endpoint; empty = none."""
    embedding_threads: int = Field(2, ge=1, le=64)
    """Texts the bundled model embeds at a time, one thread each."""

    auth_jwt_secret: SecretStr = SecretStr("")
    """HS256 key, at least 32 bytes; empty = made once into ``data_dir`` (embedded database only)."""
    auth_jwks_url: str = ""
    """Public keys of an identity provider; tokens are then checked by them instead of the secret."""
    auth_issuer: str = "conclave"
    """What ``iss`` of a token must be."""
    auth_audience: str = "conclave"
    """What ``aud`` of a token must be."""
    auth_token_max_seconds: int = Field(86_400, ge=60)
    """From issue to expiry; tokens that live longer are refused."""
    auth_key_max_days: int = Field(365, ge=1, le=3_650)
    """No key of a program is made for longer."""
    auth_provider_makes_users: bool = False
    """Whether people whom nobody added come in with what their tokens say; else they are refused."""
    oidc_file: Path | None = None
    """A YAML file of the identity providers people may sign in at from the pages."""
    auth_local_accounts: bool | None = None
    """Whether people sign in with passwords kept here; unset = those of your own companies do, where neither
    ``oidc_file`` nor ``auth_jwks_url`` names a provider; true = those of the demo's, too."""
    auth_address: str = ""
    """Where people find the pages, ``https://ask.company.com``: cookies of accounts are then for https and that name
    alone; empty = under any name, and over http. An ``oidc_file`` says it itself."""
    auth_dev_login: bool = True
    """Sign-in links for the demo users; only with the embedded database, and only until there is another company."""

    max_concurrent_agents: int = Field(5, ge=1, le=100)
    """Steps of one tier that run at a time."""
    timeout_per_agent_ms: int = Field(30_000, ge=1)
    """For one step, all its tries together; an agent's file may say otherwise."""
    max_retries: int = Field(3, ge=0, le=10)
    """Further tries of a step that failed, and of a plan that its review refused."""
    enable_caching: bool = True
    """Whether vectors of questions, search results and whole answers are remembered."""
    cache_ttl_seconds: int = Field(3600, ge=0)
    """Nothing is remembered longer."""
    conflict_resolution_threshold: float = Field(0.1, ge=0, le=1)
    """From this margin of scores on one source wins; below it both are shown."""
    min_relevance_score: float = Field(0.7, ge=0, le=1)
    """Relevance a passage should have: below half of it an answer is far less sure, and an agent that found none above
    it hands over."""
    enable_follow_up_questions: bool = True
    """Whether an answer suggests further questions."""
    max_follow_up_questions: int = Field(5, ge=0, le=20)
    """At most so many."""
    max_queries_per_agent: int = Field(10, ge=1, le=100)
    """Of one plan."""
    enable_parallel_execution: bool = True
    """Whether the steps of a tier run side by side."""
    max_handovers: int = Field(2, ge=0, le=5)
    """Times a question may pass from one agent to another; nobody gets it twice."""
    deep_max_plan_tries: int = Field(3, ge=1, le=10)
    """The next five are of the deep flow: how often each stage may try before the run gives up."""
    deep_max_research_tries: int = Field(2, ge=1, le=10)
    """Of each research step."""
    deep_max_expert_tries: int = Field(3, ge=1, le=10)
    """Of the answer the expert works out."""
    deep_max_tool_calls: int = Field(6, ge=0, le=50)
    """Of one visit to the researcher or the expert."""
    deep_max_research_steps: int = Field(6, ge=0, le=20)
    """Of a plan."""
    resolution_rules: ResolutionRules = ResolutionRules()
    """What a scope and an age count when sources disagree."""
    resolution_weights: Annotated[dict[str, float], AfterValidator(normalised)] = {
        "domain": 0.35, "scope": 0.25, "recency": 0.25, "relevance": 0.15,
    }  # fmt: skip
    """They count relative to their sum."""

    task_deadline_ms: int = Field(90_000, ge=1)
    """For a whole question, from its arrival on, all attempts together."""
    task_token_budget: int = Field(20_000, ge=0)
    """Tokens of models a question may take, prompts included; 0 = without limit."""
    task_call_budget: int = Field(24, ge=0)
    """Calls of models a question may take; 0 = without limit."""
    user_tokens_per_day: int = Field(0, ge=0)
    """0 = without limit; days are UTC. Beyond it the rules answer."""
    tenant_tokens_per_day: int = Field(0, ge=0)
    """The same for all users of a tenant together."""
    task_lease_seconds: int = Field(30, ge=1)
    """Who works on a run or step and is silent for so long has lost it."""
    deep_deadline_ms: int = Field(300_000, ge=1)
    """The next three hold for questions asked in deep mode, in place of the task's own."""
    deep_token_budget: int = Field(150_000, ge=0)
    """Tokens of models."""
    deep_call_budget: int = Field(80, ge=0)
    """Calls of models."""
    deep_approval_seconds: int = Field(86_400, ge=1)
    """A deep run whose plan a person is to approve waits for so long; then it is cancelled."""
    max_redispatches: int = Field(3, ge=0, le=20)
    """Times a run or step is given out again after its holder fell silent; then it has failed."""

    spool_max_bytes: int = Field(67_108_864, ge=0)
    """What a process may keep in ``data_dir`` of running tasks while the database is away; beyond it they fail."""
    spool_max_entries: int = Field(100_000, ge=0)
    """Writes, of one process."""
    spool_tenant_max_bytes: int = Field(16_777_216, ge=0)
    """Of one tenant, so that none takes the room of the others."""
    spool_tenant_max_entries: int = Field(25_000, ge=0)
    """Writes, of one tenant."""

    retention_conversations_days: int = Field(0, ge=0)
    """Conversations nobody used for so long are removed with all that belongs to them; 0 = never."""
    retention_files_days: int = Field(0, ge=0)
    """The same for files attached to questions."""
    retention_logs_days: int = Field(0, ge=0)
    """The same for system log lines; whole months go."""
    retention_audit_days: int = Field(0, ge=0)
    """The same for rows of the audit, oldest first."""

    max_body_bytes: int = Field(262_144, ge=1024)
    """Larger request bodies are refused with 413."""
    max_upload_bytes: int = Field(52_428_800, ge=1024)
    """Larger files are refused with 413; only administrators bring files in."""
    allow_unconfined: bool = False
    """Whether files, pages and tables are read where Linux refuses to take system calls from who reads them."""
    ingestion_max_concurrent: int = Field(4, ge=1, le=64)
    """Documents read at a time by all workers together."""
    max_query_chars: int = Field(4_000, ge=1)
    """Of a question."""
    trusted_link_hosts: frozenset[str] = frozenset()
    """Hosts whose links may stand in an answer when a document names them (``.company.com`` = every host below it);
    hosts of the cited documents themselves always may."""
    metrics_token: SecretStr = SecretStr("")
    """Who reads ``/metrics`` brings it as a bearer token; empty = it is served to this machine alone."""
    log_level: str = "INFO"
    """``DEBUG``, ``INFO``, ``WARNING`` or ``ERROR``."""

    @property
    def spool_dir(self) -> Path:
        """Where writes of running tasks wait while the database is away."""
        return self.data_dir / "spool"

    @property
    def is_embedded(self) -> bool:
        """Whether the service brings its own PostgreSQL."""
        return not self.database_url.get_secret_value()

    @property
    def has_accounts(self) -> bool:
        """Whether people sign in with passwords kept here."""
        is_alone = self.oidc_file is None and not self.auth_jwks_url
        return is_alone if self.auth_local_accounts is None else self.auth_local_accounts

    @property
    def has_model(self) -> bool:
        """Whether a language model is configured."""
        return bool(self.llm_base_url or self.llm_model)

    @property
    def running_per_user(self) -> int:
        """How many questions of one person a process works on at a time: without a model they only compute."""
        return self.max_running_per_user or (5 if self.has_model else 1)

    @property
    def has_prices(self) -> bool:
        """Whether anybody said what tokens cost."""
        return bool(self.llm_prompt_price or self.llm_completion_price)

    @property
    def dev_login(self) -> bool:
        """Whether whoever has a sign-in link may be a demo user, until there is another company."""
        return self.is_embedded and self.auth_dev_login
