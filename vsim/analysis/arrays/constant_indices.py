"""Private arrays that short loops index: the loops are unrolled, so that indices are constants and elements registers.

A counter that begins with a constant is the same in all lanes, and so are the places of a loop's accesses::

    mov (M1_NM, 1) V1(0,0)<1> 0x0:d
    LOOP: mul (M1_NM, 1) V2(0,0)<1> V1(0,0)<0;1,0> 0x80:uw
    addr_add (M1_NM, 1) A0(0)<1> &V3 V2(0,0)<0;1,0>
    mov (M1, 32) V4(0,0)<1> r[A0(0),0]<8;8,1>:d                     // V3(0,0), V3(2,0), ...
    add (M1, 32) V5(0,0)<1> V6(0,0)<1;1,0> V2(0,0)<0;1,0>           // V6 is 4 * lane
    lsc_store.ugm (M1, 32) ss(V7)[V5]:a32 V4:d32                    // scratch memory: element n of all lanes in a row
    cmp.lt (M1_NM, 32) P1 V1(0,0)<0;1,0> 0x4:ud
    (!P1) goto (M1, 1) DONE

A loop is unrolled if all its branches are the whole thread's, and known in each round. Then operands that reach
registers by addresses become these registers. If all messages to scratch memory are known to go to rows, it is a
variable, and the messages are copies. Disjoint pieces of arrays are separate variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from visakit.isa import instruction_set
from visakit.isa.enums import LSC_DATA_SIZES, LSC_DATA_TYPES, LSC_ORDERS, LSC_POINTER_TYPES, LSC_SFIDS
from visakit.isa.record import Access, Flow
from visakit.language import types
from visakit.language.operands import Address, General, Indirect, Raw, Region, region_elements
from visakit.language.program import FIRST_VARIABLE, Function, Instruction, Variable
from visakit.language.types import DataType
from vsim.analysis.arrays.element_values import ROOT_BITS, ElementValues, NotKnown
from vsim.analysis.control_flow import control_flow, covers_all
from vsim.analysis.dominators import Dominators
from vsim.analysis.reachability import touches_scratch_itself
from vsim.analysis.register_accesses import Bank, Register
from vsim.semantics.lsc import ELEMENTS_OF, address_kind
from vsim.semantics.registers import layout_of, operand_type

MOST_BEFORE, MOST_BEHIND, MOST_OF_A_LOOP, MOST_FOLLOWED = 2000, 8000, 5000, 30000
"""Instructions of a kernel, of its unrolled code, of the rounds of one loop, and of all rounds that are followed, those
of loops that stay, too.
"""
MOST_WORK = 8
"""Instructions of several lanes for each access to arrays, up to which loops do little else."""
_FLOWS = (Flow.NEXT, Flow.LABEL, Flow.GOTO, Flow.RETURN, Flow.END)


@dataclass(slots=True, repr=False)
class Unrolled(Instruction):
    """An instruction of unrolled code, with its number in the text."""

    number: int = 0


def unrolled(kernel: Function, grf_size: int, scratch_size: int) -> Function | None:
    """The kernel with registers in place of private arrays; None where that is not known to be right, or to pay."""
    if len(kernel.instructions) > MOST_BEFORE or not any(map(_reaches_array, kernel.instructions)):
        return None
    with suppress(NotKnown):
        return _Unrolling(kernel, grf_size, scratch_size).result()
    return None


def _reaches_array(i: Instruction) -> bool:
    return touches_scratch_itself(i) or any(isinstance(op, Indirect) for op in i.args.values())


class _Unrolling:
    """The code of a kernel without its short loops.

    Raises:
        NotKnown: it has other control flow, or arrays are reached at places that are not known.
    """

    def __init__(self, kernel: Function, grf_size: int, scratch_size: int) -> None:
        self.instructions, self.flow, self.lanes = kernel.instructions, control_flow(kernel), kernel.jump_lanes
        if kernel.is_cm or self.flow.subroutines or any(i.desc.flow not in _FLOWS for i in self.instructions):
            raise NotKnown
        self.function = replace(kernel, variables=[*kernel.variables], encoded=None)
        self.layout, self.grf_size, self.scratch_size = layout_of(self.function, grf_size), grf_size, scratch_size
        self.values = ElementValues(self.function, self.layout)
        if any(map(self._faults, self.instructions)):
            raise NotKnown
        self.code, self.accesses, self.followed = list[Instruction](), 0, 0
        self.scratch, self.arrays = 0, set[int]()
        """The variable that is scratch memory, if there is some, and the root variables that are arrays."""
        self.names: dict[tuple[int, DataType], int] = {}
        """Variables with elements of a type and the bytes of another one."""
        self.pieces: dict[int, list[tuple[int, int, int]]] = {}
        """By root variable the first byte of its pieces, the byte behind them, and the variables that they become."""
        gotos = [(n, i) for n, i in enumerate(self.instructions) if i.desc.flow is Flow.GOTO]
        self.jumps = {(n, target) for n, i in gotos for target in self.flow.targets(i)}
        """The branches that are left, with their targets."""
        starts = {*self.flow.starts}
        graph = {s: {*self.flow.successors(e - 1, self.lanes)} & starts for s, e in self.flow.blocks()}
        self.dominators = Dominators(graph, 0)

    def _faults(self, i: Instruction) -> bool:
        """Whether operands exceed their variables, of which pieces would have room for them."""
        to_address = isinstance(i.args.get("dst"), Address)
        return any(to_address or r.file is Bank.GENERAL for r in self.values.accesses.beyond(i))

    def result(self) -> Function:
        """The kernel with straight code in place of loops."""
        ends, n = dict(sorted((target, branch) for branch, target in self.flow.backward)), 0
        while n < self.flow.end:
            if self.followed > MOST_FOLLOWED:
                raise NotKnown
            if n in ends and self._unroll(range(n, ends[n] + 1)):
                n = ends[n] + 1
                continue
            # Lanes that went back come behind the branch by other ways, too.
            if any(n == target or n == branch + 1 > target for branch, target in self.jumps):
                self.values.meet(partial(self._leads_to, n))
            self._execute(n, n)
            n += 1
        self.code = [i for i in self.code if not isinstance(i.args.get("dst"), Address)]
        if any(isinstance(op, Address) for i in self.code for op in i.args.values()):
            raise NotKnown
        if sum(i.args["exec"].size > 1 for i in self.code if "exec" in i.args) > MOST_WORK * self.accesses:
            raise NotKnown
        self._split()
        return replace(self.function, instructions=self.code)

    def _leads_to(self, n: int, writer: int) -> bool:
        """Whether all ways to the beginning of a block lead through an instruction."""
        return self.dominators.dominates(self.flow.block_of(writer), self.flow.block_of(n))

    def _unroll(self, loop: range) -> bool:
        """Execute the rounds of a loop, if they are known."""
        if any(target in loop and branch not in loop for branch, target in self.jumps):
            return False
        length, accesses, last, n = len(self.code), self.accesses, -1, loop.start
        try:
            for _ in range(MOST_OF_A_LOOP):
                last, n = n, self._follow(n)
                if n not in loop:
                    break
            else:
                raise NotKnown
        except NotKnown:
            del self.code[length:]  # What is known is forgotten at the label.
            self.accesses = accesses
            return False
        self.jumps = {(branch, target) for branch, target in self.jumps if branch not in loop}
        if n != loop.stop:
            self._add(last, replace(self.instructions[last], args={**self.instructions[last].args, "pred": None}))
            self.jumps.add((last, n))
        return True

    def _follow(self, n: int) -> int:
        """Execute an instruction of a loop; gives the next one's number."""
        self.followed += 1
        i = self.instructions[n]
        if i.desc.flow is Flow.GOTO and covers_all(i, self.lanes):
            return self.flow.targets(i)[0] if i.args["pred"] is None or self.values.holds(i) else n + 1
        if i.desc.flow is Flow.NEXT:
            self._execute(n, -1)
        elif i.desc.flow is not Flow.LABEL:
            raise NotKnown
        return n + 1

    # -- instructions --------------------------------------------------------------------------------------

    def _add(self, n: int, i: Instruction) -> None:
        self.code.append(Unrolled(i.desc, i.args, i.line, n))
        if len(self.code) > MOST_BEHIND:
            raise NotKnown

    def _execute(self, n: int, writer: int) -> None:
        """Put an instruction into the code, with registers where addresses are known."""
        i = self.instructions[n]
        self.accesses += _reaches_array(i)
        args = {name: self._register(x, i) if isinstance(x, Indirect) else x for name, x in i.args.items()}
        for one in self._copies(i) if touches_scratch_itself(i) else (replace(i, args=args),):
            self._add(n, one)
            self.values.execute(self.code[-1], writer)

    def _register(self, op: Indirect, i: Instruction) -> General:
        """The register that an operand reaches by an address."""
        if op.region[0] is None and op.region[1] is not None:
            raise NotKnown  # An address for each row.
        root, at = divmod(self.values.bits(Register(Bank.ADDRESS, op.var), op.element, 1), 1 << ROOT_BITS)
        if root < FIRST_VARIABLE:
            raise NotKnown
        self.arrays.add(root)
        return self._part(root, at + op.offset, op.type, op.region, i.args["exec"].size, op.modifier)

    def _part(self, root: int, at: int, t: DataType, region: Region, count: int, modifier: int = 0) -> General:
        """An operand at a byte of a variable, inside it."""
        size = (max(region_elements(region, count)) + 1) * t.size
        if at < 0 or at % t.size or at + size > self.function.variable_size(root, self.grf_size):
            raise NotKnown
        return General(self._named(root, t), 0, at // t.size, region, modifier)

    def _named(self, root: int, t: DataType) -> int:
        """A variable with elements of a type and the bytes of another one."""
        if (root, t) not in self.names:
            count = self.function.variable_size(root, self.grf_size) // t.size
            self.names[root, t] = self._declare(Variable(0, f"V{root}.{t}", t, count, alias=(root, 0)))
        return self.names[root, t]

    def _declare(self, variable: Variable) -> int:
        number = FIRST_VARIABLE + len(self.function.variables)
        self.function.variables.append(variable)
        self.layout.roots[number] = variable.alias or (number, 0)
        return number

    def _copies(self, i: Instruction) -> Iterator[Instruction]:
        """Copies in place of a message to scratch memory."""
        args, is_load = i.args, i.desc.access is Access.LOAD
        if i.desc.semantics not in ("lsc_load", "lsc_store") or address_kind(i) != "ss" or args["imm_scale"] != 1:
            raise NotKnown
        if args["sfid"] == LSC_SFIDS["slm"] or args.get("surface_index") or (args["pred"] and args["pred"].mode):
            raise NotKnown
        if args["order"] == LSC_ORDERS["t"] or args["data_size"] == LSC_DATA_SIZES["d16u32h"] or args["exec"].payload:
            raise NotKnown
        execution, (memory, register), data = (
            args["exec"],
            LSC_DATA_TYPES[args["data_size"]],
            args["dst" if is_load else "src1"],
        )
        self.scratch = self.scratch or self._declare(Variable(0, "scratch", types.UB, self.scratch_size))
        self.arrays.add(self.scratch)
        first, step = self._row(i, memory.size)
        root, start = self.layout.root(data.var)
        payload, t = execution.size * register.size, register if is_load else memory
        if root < FIRST_VARIABLE or payload % self.grf_size:
            raise NotKnown
        for k in range(ELEMENTS_OF[args["elems"]]):
            there = self._part(self.scratch, first + k * memory.size, memory, (step, 1, 0), execution.size)
            here = self._part(
                root, start + data.offset + k * payload, t, (register.size // t.size, 1, 0), execution.size
            )
            source, target = (there, here) if is_load else (here, there)
            target = replace(target, region=(None, None, target.region[0]))
            fields = {"exec": execution, "pred": args["pred"], "dst": target, "src0": source}
            yield Instruction(instruction_set().by_mnemonic["mov"][0], fields, i.line)

    def _row(self, i: Instruction, size: int) -> tuple[int, int]:
        """The first place of scratch memory that lanes reach, and how many elements they are apart."""
        execution, (root, start) = i.args["exec"], self.layout.root(i.args["addr"].var)
        register, at = Register(Bank.GENERAL, root), start + i.args["addr"].offset
        lanes = [-1 if execution.no_mask else execution.offset + k for k in range(execution.size)]
        found = [self.values.bits(register, at + 4 * k, 4, lane) & 0xFFFFFFFF for k, lane in enumerate(lanes)]
        step = (found[1] - found[0]) // size if len(found) > 1 else 1
        is_row = found == [found[0] + k * step * size for k in range(len(found))]
        if LSC_POINTER_TYPES[i.args["addr_size"]] is not types.UD or step not in (1, 2, 4) or not is_row:
            raise NotKnown
        return found[0] + i.args["imm_offset"], step

    def _split(self) -> None:
        """Make variables of the pieces of arrays that no operand reaches together."""
        given = {self.layout.root(own.index)[0] for own in self.function.inputs}
        self.pieces = {root: [] for root in self.arrays - given}
        general = (a for i in self.code for a in self.values.accesses.of(i) if a.register.file is Bank.GENERAL)
        reached = {(a.register.number, a.places) for a in general if a.register.number in self.pieces}
        for root, places in sorted(reached, key=lambda x: x[1] & -x[1]):
            low, end, found = (places & -places).bit_length() - 1, places.bit_length(), self.pieces[root]
            if not found or low >= found[-1][1]:
                found.append((low, end, self._declare(Variable(0, f"V{root}.{low}", types.UB, 0))))
            low, end, number = found[-1] = (found[-1][0], max(end, found[-1][1]), found[-1][2])
            self.function.variables[number - FIRST_VARIABLE].elements = end - (low & ~7)
        self.code = [replace(i, args={n: self._piece(op) for n, op in i.args.items()}) for i in self.code]

    def _piece(self, op: object) -> object:
        """An operand in the variable of its piece."""
        if type(op) is tuple:  # Operands of a message.
            return tuple(map(self._piece, op))
        if not isinstance(op, (General, Raw)) or (root := self.layout.root(op.var)[0]) not in self.pieces:
            return op
        low = self.layout.place(op)[1] if isinstance(op, General) else self.layout.root(op.var)[1] + op.offset
        first, _, number = next((x for x in self.pieces[root] if x[0] <= low < x[1]), (0, 0, root))
        if isinstance(op, Raw):
            return Raw(number, low - (first & ~7))
        t = operand_type(self.function, op)
        if low % t.size:
            raise NotKnown
        return replace(op, var=self._named(number, t), row=0, col=(low - (first & ~7)) // t.size)
