"""Findings in words: as diagnostics, for people and for programs, and as rows of a report that is JSON."""

from __future__ import annotations

from typing import NamedTuple

from visakit.diagnostics import Diagnostic, Label, Span, counted
from visakit.language.program import Function
from visakit.text.printer import FunctionPrinter
from vsim.analysis.origins import LOCAL, Origin, undefined_origins
from vsim.checks.findings import MAPPED, Finding, OtherSide, Site, Who
from vsim.checks.kinds import BY_ORDER
from vsim.checks.lanes import BLOCK_OFF
from vsim.checks.names import UNDEFINED
from vsim.checks.shadow_machine import STORED
from vsim.checks.suppressions import Described
from vsim.checks.votes import is_of_vote
from vsim.launch import threads
from vsim.launch.bound_launch import BoundLaunch
from vsim.launch.dispatch import Dispatch
from vsim.observe.elements import element_of


class Place(NamedTuple):
    """An instruction in words: its text, its number and function, and where it stands."""

    function: str
    number: int
    mnemonic: str
    text: str
    span: Span
    labels: tuple[Label, ...]

    @property
    def shown(self) -> str:
        """As messages name it."""
        return f"'{self.text}' (instruction {self.number} of '{self.function}')"

    @property
    def described(self) -> Described:
        """As suppressions see it."""
        spans = (self.span, *(label.span for label in self.labels))
        return Described(self.function, self.mnemonic, self.text, tuple(f"{s.file}:{s.line}" for s in spans))


def place(dispatch: BoundLaunch, site: Site) -> Place:
    """Where a site is."""
    function = dispatch.image.module.all_functions[site.function]
    instruction = function.instructions[site.instruction]
    span, labels = dispatch.image.place(function, instruction)
    text = FunctionPrinter(function).instruction(instruction)
    return Place(function.name, site.instruction, instruction.desc.mnemonic, text, span, labels)


def who_in_words(dispatch: BoundLaunch, who: Who, site: Site, is_of_lane: bool = False) -> str:
    """Who it was: lane, work-item and work-group, and how many barriers the thread had passed.

    Of a kernel whose lanes are elements of vectors, the element is named, too; of a block the element and the thread,
    unless it is the lane of the message that counts.
    """
    group = dispatch.group(who.group)
    function = dispatch.image.module.all_functions[site.function]
    instruction = function.instructions[site.instruction]
    lane = who.lane - threads.first_lane(instruction)
    element, is_block = ("", False) if is_of_lane else element_of(function, instruction, lane, dispatch.grf_size)
    found = element + threads.describe(dispatch, group, who.thread, -1 if is_block else who.lane)
    if who.epoch:
        found += f", after {counted(who.epoch, 'barrier')}"
    return found


def kept(dispatch: Dispatch) -> list[Finding]:
    """The findings of a launch in the order of the text, without those of the compiler's own votes and without those
    that a suppression is about.
    """
    if dispatch.findings is None:
        return []
    known = dispatch.findings.checking.suppressions
    found = [f for f in dispatch.findings if not is_of_vote(dispatch, f)]
    if known is None:
        return found
    return [f for f in found if not known.holds(f.check, f.code, dispatch.kernel.name, _sides(dispatch, f))]


def _sides(dispatch: Dispatch, finding: Finding) -> list[Described]:
    sides: list[tuple[BoundLaunch, Site]] = [(dispatch, finding.site)]
    if finding.other is not None and not finding.other.command:
        sides.append((finding.other.launch or dispatch, finding.other.site))
    return [place(launch, site).described for launch, site in sides]


def diagnostics(dispatch: Dispatch) -> list[Diagnostic]:
    """What commands say of the findings of a launch: each at its place, up to the limit."""
    findings = dispatch.findings
    if findings is None:
        return []
    found, limit = kept(dispatch), findings.checking.limit
    shown = [diagnostic(dispatch, f) for f in found[:limit]]
    more = len(found) - len(shown)
    if not BY_ORDER.isdisjoint(f.code for f in found):
        shown.append(_depends_on_order(dispatch))
    if more:
        words = "findings are" if more > 1 else "finding is"
        message = f"{more} more {words} not shown, of '{dispatch.kernel.name}'"
        shown.append(Diagnostic("K092", message, None, "--check-limit shows more", severity="warning"))
    if findings.left_out:
        message = (
            f"the findings of '{dispatch.kernel.name}' are not complete: there was no room for {findings.left_out}"
        )
        shown.append(Diagnostic("K092", message, None, "mend the findings shown first", severity="warning"))
    return shown


def _depends_on_order(dispatch: Dispatch) -> Diagnostic:
    """What is said of a launch whose threads or groups race: others run in other orders."""
    message = f"the results of '{dispatch.kernel.name}' depend on the order in which its threads run"
    if dispatch.schedule is not None:
        return Diagnostic("K093", f"{message}: with another schedule they may differ", severity="warning")
    message += ", and checks change that: without them the results may differ"
    return Diagnostic(
        "K093", message, None, "on the fast engine a schedule gives both the same order", severity="warning"
    )


def diagnostic(dispatch: Dispatch, finding: Finding) -> Diagnostic:
    """A finding as a diagnostic: the other side is a label."""
    at = place(dispatch, finding.site)
    memory = f": {finding.memory}" if finding.memory else ""
    times = f", {finding.count} times in all" if finding.count > 1 else ""
    who = who_in_words(dispatch, finding.who, finding.site, finding.code == BLOCK_OFF)
    message = f"{finding.message}{memory}, at {at.shown[:-1]}, {who}){times}"
    labels = at.labels
    if finding.other is not None:
        labels += (_other_side(dispatch, finding.other),)
    labels += tuple(Label(origin.at.span, f"read here: {origin.words}") for origin in origins(dispatch, finding))
    asked_for = dispatch.findings is None or finding.check in dispatch.findings.checks
    severity = "error" if asked_for else "note"
    line_hint = dispatch.image.line_hint(dispatch.image.module.all_functions[finding.site.function])
    hint = "; ".join(filter(None, (finding.hint, line_hint)))
    return Diagnostic(finding.code, message, at.span, hint, labels, severity)


def _other_side(dispatch: Dispatch, other: OtherSide) -> Label:
    launch = other.launch or dispatch
    if other.command:
        whose = "by the program, until it unmaps what this has mapped" if other.is_program else "by this command"
        return Label(Span(other.command.removeprefix(MAPPED), 0), f"the other side: a {other.kind} {whose}")
    at = place(launch, other.site)
    of = f" in the launch of '{launch.kernel.name}'" if other.launch is not None else ""
    who = who_in_words(launch, other.who, other.site)
    return Label(at.span, f"the other side{of}: {other.kind} at {at.shown[:-1]}, {who})")


class ShownOrigin(NamedTuple):
    """Something undefined that a value is made of.

    Attributes:
        name: of the variable, or of the memory.
        declared: the line of its declaration; 0 where that is not known.
        reason: why it is undefined.
        at: where it is read first.
    """

    name: str
    declared: int
    reason: str
    at: Place

    @property
    def words(self) -> str:
        """As messages say it."""
        declared = f", declared at {self.declared}" if self.declared else ""
        return f"{self.name}{declared}, {self.reason}"


def origins(dispatch: Dispatch, finding: Finding) -> list[ShownOrigin]:
    """What the undefined value of a finding is made of, as far as its function shows (:mod:`vsim.analysis.origins`)."""
    if finding.check != UNDEFINED:
        return []
    function = dispatch.image.module.all_functions[finding.site.function]
    found = undefined_origins(function, dispatch.grf_size, finding.site.instruction, finding.code == STORED)
    return [_shown_origin(dispatch, function, finding.site, origin) for origin in found]


def _shown_origin(dispatch: Dispatch, function: Function, site: Site, origin: Origin) -> ShownOrigin:
    at = place(dispatch, Site(site.function, origin.read))
    if origin.variable < 0:
        name = "local memory" if origin.variable == LOCAL else "memory"
        return ShownOrigin(name, 0, "not written before", at)
    declaration = dispatch.image.declaration(function, origin.variable)
    reason = "not written on every path to here" if origin.is_written else "never written"
    if origin.last:
        size = function.variable_type(origin.variable).size
        elements = f"elements {origin.first // size} to {origin.last // size}"
        reason = f"{elements} (bytes {origin.first} to {origin.last}) never written"
    name = f"'{function.variable_name(origin.variable)}'"
    return ShownOrigin(name, declaration.line if declaration else 0, reason, at)


def trees(dispatch: Dispatch) -> list[dict[str, object]]:
    """The findings of a launch for a JSON report; docs/json.md describes it."""
    findings = dispatch.findings
    if findings is None:
        return []
    return [_tree(dispatch, f) for f in kept(dispatch)[: findings.checking.limit]]


def _tree(dispatch: Dispatch, finding: Finding) -> dict[str, object]:
    found: dict[str, object] = {"code": finding.code, "check": finding.check, "message": finding.message}
    found |= _side(dispatch, finding.site, finding.who)
    found |= {"memory": finding.memory, "count": finding.count}
    if finding.other is not None:
        other = finding.other
        who = {"command": other.command} if other.command else _side(other.launch or dispatch, other.site, other.who)
        found["other"] = {"kind": other.kind} | who
    if shown := origins(dispatch, finding):
        found["origins"] = [
            {"name": o.name.strip("'"), "declared": o.declared, "reason": o.reason, "instruction": o.at.number,
             "text": o.at.text, "file": o.at.span.file, "line": o.at.span.line}
            for o in shown
        ]  # fmt: skip
    return found


def _side(dispatch: BoundLaunch, site: Site, who: Who) -> dict[str, object]:
    at, group = place(dispatch, site), dispatch.group(who.group)
    item = threads.work_item(dispatch, group, who.thread, who.lane) if who.lane >= 0 else None
    return {
        "function": at.function, "instruction": at.number, "text": at.text, "file": at.span.file, "line": at.span.line,
        "group": list(group.id), "thread": who.thread, "lane": who.lane if who.lane >= 0 else None,
        "work_item": None if item is None else list(item), "epoch": who.epoch,
    }  # fmt: skip
