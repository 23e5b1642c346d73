"""The one door: every write of every tier asks it, and it accepts, stages or refuses.

Idea: what a text holds can only refuse it, where it came from decides whether a person is asked. Invariant: nothing in
a text switches the check off, no absence of findings grants anything, and the gate imports no noun.
"""

from __future__ import annotations

import unicodedata

from vademecum.clock import Clock, now_ms
from vademecum.config import GateConfig
from vademecum.errors import BlockedError, NotFoundError, RefusedError
from vademecum.gate.audit import Audit
from vademecum.gate.candidate import Accepted, Act, Candidate, Decision, Finding, Staged
from vademecum.gate.lookalikes import find_lookalikes
from vademecum.gate.policy import Policy
from vademecum.gate.proposals import Proposals, dump_findings, load_findings, sha256_of
from vademecum.gate.quarantine import Quarantine
from vademecum.gate.recorder import record_act, record_refusal, recorded
from vademecum.gate.redactor import KEY_NAME, Redactor, check_rules, told
from vademecum.gate.subjects import subjects_of
from vademecum.gate.tiers import Tier
from vademecum.gate.trust import Rules
from vademecum.gate.unicode import find_hidden, is_plain
from vademecum.late import replace
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore

RULES_VERSION = f"2/{unicodedata.unidata_version}"
"""Changes with the rules and with Python's Unicode tables; verdicts of other versions are not used."""

_REMEMBERED, _LONGEST_REMEMBERED = 1024, 4000
PLAIN_RECORD = frozenset({"sessions"})
"""Tiers that keep what was said as it was said, whatever it is about."""


class Gate:
    """Decides on every write. `write_approval` is `off`, `untrusted` or `all`, as in config.yaml."""

    def __init__(
        self,
        proposals: ProposalStore,
        verdicts: VerdictStore | None,
        *,
        write_approval: str,
        config: GateConfig | None = None,
        clock: Clock = now_ms,
    ) -> None:
        self._proposals = proposals
        self._verdicts = verdicts
        self._config = config or GateConfig()
        self._policy = Policy(write_approval, self._config.policy)
        self._clock = clock
        if self._config.scanners_off:
            from vademecum.gate.scanners import rule_names  # reads the rules

            ours = [rule for rule in self._config.scanners_off if ":" not in rule]
            check_rules("gate.scanners_off", ours, rule_names())
        if self._config.owasp:
            from vademecum.gate.owasp import check_installed

            check_installed()
        self.redactor = Redactor(proposals.db.path.with_name(KEY_NAME), self._config)
        """What takes secrets out of whatever is kept."""
        self.audit = Audit(proposals.db, clock, redactor=self.redactor)
        """Where every decision is recorded."""
        self.quarantine = Quarantine(proposals.db)
        """What is kept and stands in no prompt and no search."""
        self._tiers: dict[str, Tier] = {}
        self._seen: dict[str, tuple[Finding, ...]] = {}

    def admit(self, candidate: Candidate) -> Decision:
        """Accepted: write it now. Staged: it waits for a person, write nothing.

        Secrets are replaced first: `Accepted.text` and the proposal hold the text without them, and nothing else of the
        candidate is kept with one. Raises BlockedError when the text (or target) holds characters that hide something
        or a scanner's rule refuses it, at every setting, and RefusedError when a person rejected exactly this write
        before. What is removed is not looked at, so that an entry that is blocked can always be taken out. Every answer
        is in the audit log when this returns. A write that cannot be recorded raises StorageError or LockedError; a
        person's is accepted, with a note that says so.
        """
        candidate = self._redacted(candidate)
        try:
            return recorded(self.audit, candidate, self._decided(candidate))
        except RefusedError as error:
            record_refusal(self.audit, candidate, error)
            raise

    def intend(self, candidate: Candidate, act: Act | None) -> str:
        """Record a write before a tier carries it out, when it needs no decision: a person has set it in motion, or
        (None) it changes white space and order only. What its author must be told. Raises StorageError, LockedError.
        """
        return record_act(self.audit, candidate, act)

    def _redacted(self, candidate: Candidate) -> Candidate:
        text = self.redactor.redact(candidate.text)
        return replace(
            candidate,
            text=text.text,
            before=self.redactor.clean(candidate.before),
            reason=self.redactor.clean(candidate.reason),
            origin=self.redactor.origin(candidate.origin),
            session=self.redactor.session(candidate.session),
            redacted=(*candidate.redacted, *text.kinds),
        )

    def foresee(self, candidate: Candidate) -> bool:
        """Whether `admit` would have `candidate` wait for a person; nothing is stored or recorded.

        Raises what `admit` raises for the text, the target or the origin; whether a person rejected it before, and how
        much waits already, is not asked.
        """
        return self._verdict(self._redacted(candidate))[1] is not None

    def _verdict(self, candidate: Candidate) -> tuple[tuple[Finding, ...], tuple[Finding, ...] | None]:
        """What scanners see, and why a person is asked (None: nobody is)."""
        findings: tuple[Finding, ...] = ()
        if candidate.action != "remove":
            hidden = self.inspect(candidate.text) or self.inspect(candidate.target)
            if hidden:
                raise blocked(hidden)
            findings = self._scanned(candidate)
        return findings, self._waits_for_person(candidate, findings)

    def _decided(self, candidate: Candidate) -> Decision:
        findings, waits = self._verdict(candidate)
        note = told(candidate.redacted)
        rule = " ".join(dict.fromkeys(f"secret:{kind}" for kind in candidate.redacted))
        if waits is not None:
            proposals = Proposals(self._proposals.db, candidate.actor, self._clock, self._config)
            return Staged(proposals.add(candidate, waits), rule, note)
        seen = "Written as told, but look at it again: " if findings else ""
        seen += " ".join(finding.message for finding in findings)
        return Accepted(candidate.text, findings, rule, f"{note} {seen}".strip())

    def _scanned(self, candidate: Candidate) -> tuple[Finding, ...]:
        """What scanners see in the text. Raises BlockedError when it is grave, whoever brings the text."""
        if candidate.restated or candidate.tier in PLAIN_RECORD:
            return ()
        from vademecum.gate.scanners import refuses, scan  # reads the rules

        findings = scan(candidate.text, off=self._config.scanners_off)
        grave = tuple(finding for finding in findings if refuses(finding))
        if grave:
            raise blocked_by_scanner(grave)
        if self._config.owasp:
            from vademecum.gate import owasp

            findings += owasp.scan(candidate.text)
        return findings

    def inspect(self, text: str) -> tuple[Finding, ...]:
        """What makes `text` unfit to be loaded into a prompt; () when nothing does. Kept by SHA-256 in the database."""
        findings = self._seen.get(text)
        if findings is None:
            findings = () if is_plain(text) else self._look_up(text)
            if len(text) <= _LONGEST_REMEMBERED:
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen[text] = findings
        return findings

    def _look_up(self, text: str) -> tuple[Finding, ...]:
        if self._verdicts is None:
            return _judge(text)
        digest = sha256_of(text)
        kept = self._verdicts.get(digest, RULES_VERSION)
        if kept is not None:
            return load_findings(kept)
        findings = _judge(text)
        self._verdicts.put(digest, RULES_VERSION, dump_findings(findings))
        return findings

    def _waits_for_person(self, candidate: Candidate, seen: tuple[Finding, ...]) -> tuple[Finding, ...] | None:
        """Why a person is asked (what scanners have `seen`, sensitive subjects, possibly none), or None.

        Raises RefusedError.
        """
        rules = Rules(self._config.local_tools, candidate.actor, self._config.trusted_connectors)
        trust = rules.class_of(candidate.origin)
        verdict = self._policy.verdict(candidate.tier, candidate.target, trust)
        if verdict == "refuse":
            raise RefusedError(
                f"The policy refuses what comes from {candidate.origin} ({trust}) in {candidate.tier!r}. Nothing was "
                "written.",
                "Do not try again. A person can change `gate.policy` in config.yaml.",
            )
        own_words = trust in ("person", "owner") or candidate.restated or candidate.tier in PLAIN_RECORD
        subjects = () if own_words or candidate.action == "remove" else subjects_of(candidate.text)
        why = (*seen, *subjects)
        if verdict == "stage" or candidate.propose or (candidate.unattended and candidate.action != "add"):
            return why
        return why if why and trust != "person" and self._policy.approval != "off" else None

    def register(self, tier: Tier) -> None:
        """Make `tier` known under its name; a second one of that name takes the place of the first."""
        self._tiers[tier.name] = tier

    def tier(self, name: str) -> Tier:
        """The tier of that name. Raises NotFoundError."""
        try:
            return self._tiers[name]
        except KeyError:
            raise NotFoundError(
                f"No tier is named {name!r}; there are: {', '.join(sorted(self._tiers)) or 'none'}."
            ) from None


def _judge(text: str) -> tuple[Finding, ...]:
    return find_hidden(text) + find_lookalikes(text)


def blocked(findings: tuple[Finding, ...]) -> BlockedError:
    """The error for a text with `findings`: says which characters and where, and how to go on."""
    error = BlockedError(
        f"Refused: {' '.join(finding.message for finding in findings)} Nothing was written.",
        "Write the text again with visible characters of one alphabet a word; "
        "emoji, accents and every living script are welcome.",
    )
    error.rule = ", ".join(dict.fromkeys(finding.rule for finding in findings))
    return error


def blocked_by_scanner(findings: tuple[Finding, ...]) -> BlockedError:
    """The error for a text that a scanner's rule refuses whoever brings it."""
    rules = ", ".join(dict.fromkeys(finding.rule.removesuffix("!") for finding in findings))
    error = BlockedError(
        f"Refused by the rule {rules}: {' '.join(finding.message for finding in findings)} Nothing was written.",
        "Say what you want to keep in other words. A person can switch a rule off with `gate.scanners_off`.",
    )
    error.rule = rules
    return error
