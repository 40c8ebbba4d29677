package regalloc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// ErrWrong is the error of an allocation that [Check] refutes.
var ErrWrong = errors.New("allocation is wrong")

// RunChecked is [Run] followed by [Check]: slower by far, for tests.
func RunChecked(f *Func, cfg Config) (Result, error) {
	before := f.clone()
	var t Trace
	res, err := new(alloc).run(f, cfg, &t)
	if err != nil {
		return res, err
	}
	return res, Check(before, f, cfg, &t)
}

// Check proves by symbolic execution that each instruction after allocation reads
// the values that it read before. What operations compute is not its concern: it
// takes those in another order of operands as given.
func Check(before, after *Func, cfg Config, t *Trace) error {
	if len(t.twists) > 0 {
		before = before.clone()
	}
	for i := range t.twists {
		w := &t.twists[i]
		before.Blocks[w.block].Insts[w.inst] = w.to
	}
	c := &checker{before: before, after: after, cfg: cfg, trace: t, remats: t.remats}
	return c.run()
}

func (f *Func) clone() *Func {
	g := *f
	g.Blocks = make([]*Block, len(f.Blocks))
	for i, b := range f.Blocks {
		g.Blocks[i] = &Block{Insts: slices.Clone(b.Insts), Depth: b.Depth}
	}
	return &g
}

// checker executes the code before and after allocation side by side. Its state
// says for each location (a register, a slot of the frame, a value that can be made
// again) which registers of the code before have their current value there. Where
// paths meet, what holds on all of them remains.
type checker struct {
	before, after *Func
	cfg           Config
	trace         *Trace
	remats        []asm.Reg

	base    [5]int
	slots   []slotLocation
	entry   []state // by block after: the state at its start, empty if not reached
	work    []int
	state   state
	remat0  int // location of the first value that can be rematerialised
	scratch alloc
}

// state says what locations hold. Most locations hold few registers' values, and there are
// thousands of both in large kernels: lists, which states share and none changes, take
// little of the memory that a table of locations by registers would.
type state struct {
	held  [][]int32 // by location: the registers of the code before that have their value there
	undef []uint64  // bits: registers without a value, for which any location will do
	kept  []uint64  // bits: registers that some location may hold
}

func (s state) clone() state {
	return state{slices.Clone(s.held), slices.Clone(s.undef), slices.Clone(s.kept)}
}

func bit(bits []uint64, i int) bool { return bits[i/64]>>(i%64)&1 != 0 }

func (s state) has(place, sym int) bool {
	return bit(s.undef, sym) || slices.Contains(s.held[place], int32(sym))
}

func (s state) put(place, sym int) {
	if l := s.held[place]; !slices.Contains(l, int32(sym)) {
		s.held[place] = append(slices.Clip(l), int32(sym))
		s.kept[sym/64] |= 1 << (sym % 64)
	}
}

func (s state) undefine(sym int) { s.undef[sym/64] |= 1 << (sym % 64) }

// forget removes a register from all locations: it gets another value.
func (s state) forget(sym int) {
	s.undef[sym/64] &^= 1 << (sym % 64)
	if !bit(s.kept, sym) {
		return // as of most registers, which get one value
	}
	s.kept[sym/64] &^= 1 << (sym % 64)
	for p, l := range s.held {
		if i := slices.Index(l, int32(sym)); i >= 0 {
			s.held[p] = slices.Concat(l[:i], l[i+1:])
		}
	}
}

// meet leaves what holds in both states, and reports whether that is less than before.
func (s state) meet(o state) (less bool) {
	both := slices.Clone(s.undef)
	for i, bits := range o.undef {
		both[i] &= bits
	}
	less = !slices.Equal(both, s.undef)
	for p, l := range s.held {
		if slices.Equal(l, o.held[p]) {
			continue
		}
		keep := slices.DeleteFunc(slices.Clone(l), func(sym int32) bool { return !o.has(p, int(sym)) })
		less = less || len(keep) < len(l)
		for _, sym := range o.held[p] {
			if bit(s.undef, int(sym)) && !bit(both, int(sym)) && !slices.Contains(keep, sym) {
				keep = append(keep, sym)
			}
		}
		s.held[p] = keep
	}
	copy(s.undef, both)
	for i, bits := range o.kept {
		s.kept[i] |= bits
	}
	return less
}

// slotLocation is a part of the frame.
type slotLocation struct{ off, size int32 }

const physLocations = 4 * 32

func (c *checker) run() error {
	c.setup()
	for len(c.work) > 0 {
		// The first in the order of the code: what comes before a block is mostly done by then.
		at := 0
		for k, i := range c.work {
			if i < c.work[at] {
				at = k
			}
		}
		i := c.work[at]
		c.work = slices.Delete(c.work, at, at+1)
		if err := c.block(i); err != nil {
			return fmt.Errorf("regalloc: %w: block %d: %w", ErrWrong, i, err)
		}
	}
	return nil
}

func (c *checker) setup() {
	n := 0
	for k, v := range c.before.Virt {
		c.base[k] = n
		n += v
	}
	c.base[4] = n
	c.findSlots()
	c.remat0 = physLocations + len(c.slots)
	c.entry = make([]state, len(c.after.Blocks))
	words := (n + physLocations + 63) / 64
	c.state = state{make([][]int32, c.remat0+len(c.remats)), make([]uint64, words), make([]uint64, words)}
	for p := range physLocations {
		c.state.put(p, c.base[4]+p)
	}
	for i, r := range c.remats {
		c.state.put(c.remat0+i, c.symbol(r))
	}
	c.flow(0)
}

// findSlots finds the parts of the frame that moves and operands name.
func (c *checker) findSlots() {
	for i, steps := range c.trace.blocks {
		for _, s := range steps {
			if s.out < 0 || s.remat >= 0 {
				continue
			}
			for k, arg := range c.after.Blocks[i].Insts[s.out].Args {
				if arg.Kind == asm.MemArg && (s.orig < 0 || c.before.Blocks[i].Insts[s.orig].Args[k].Kind == asm.RegArg) {
					c.slot(arg, c.movedClass(i, s))
				}
			}
		}
	}
}

// movedClass returns the class of the value that a step moves or folds.
func (c *checker) movedClass(i int, s step) asm.Class {
	args := c.after.Blocks[i].Insts[s.out].Args
	if s.orig >= 0 {
		for k, arg := range args {
			if b := c.before.Blocks[i].Insts[s.orig].Args[k]; arg.Kind == asm.MemArg && b.Kind == asm.RegArg {
				return b.Reg.Class()
			}
		}
	}
	if args[0].Kind == asm.RegArg {
		return args[0].Reg.Class()
	}
	return args[1].Reg.Class()
}

// slot returns the location of a memory operand of the frame.
func (c *checker) slot(arg asm.Arg, class asm.Class) int {
	s := slotLocation{off: arg.Disp, size: 8}
	if class == asm.Vec {
		s.size = int32(c.cfg.VecBytes)
	}
	k := slices.Index(c.slots, s)
	if k < 0 {
		k = len(c.slots)
		c.slots = append(c.slots, s)
	}
	return physLocations + k
}

// symbol is the number of a register of the code before.
func (c *checker) symbol(r asm.Reg) int {
	if r.IsVirtual() {
		return c.base[r.Class()] + r.Num()
	}
	return c.base[4] + physLocation(r)
}

func physLocation(r asm.Reg) int { return int(r.Class())*32 + r.Num() }

// flow brings the state to the start of a block.
func (c *checker) flow(to int) {
	if c.entry[to].held == nil {
		c.entry[to] = c.state.clone()
	} else if !c.entry[to].meet(c.state) {
		return
	}
	if !slices.Contains(c.work, to) {
		c.work = append(c.work, to)
	}
}

func (c *checker) block(i int) error {
	c.state = c.entry[i].clone()
	for _, s := range c.trace.blocks[i] {
		ends, err := c.step(i, s)
		if err != nil {
			return fmt.Errorf("step %+v: %w", s, err)
		}
		if ends {
			return nil
		}
	}
	if i+1 >= len(c.after.Blocks) {
		return errors.New("runs past the code")
	}
	c.flow(i + 1)
	return nil
}

func (c *checker) step(i int, s step) (ends bool, err error) {
	var was, is *asm.Inst
	if s.orig >= 0 {
		was = &c.before.Blocks[i].Insts[s.orig]
	}
	if s.out >= 0 {
		is = &c.after.Blocks[i].Insts[s.out]
	}
	switch {
	case was == nil && s.remat >= 0:
		c.state.held[physLocation(is.Args[0].Reg)] = c.state.held[c.remat0+int(s.remat)]
	case was == nil && !isJump(is.Op):
		return false, c.move(is)
	case was != nil && was.Op == asm.COPY:
		return false, c.copy(i, s, was, is)
	case was != nil && was.Op == asm.UNDEF:
		c.state.undefine(c.symbol(was.Args[0].Reg))
	case was != nil && is == nil:
		return false, c.dropped(was)
	case was != nil:
		if err := c.inst(was, is); err != nil {
			return false, err
		}
	}
	if is == nil || !isJump(is.Op) {
		return false, nil
	}
	return c.jump(i, was, is)
}

// jump brings the state to the target of a jump.
func (c *checker) jump(i int, was, is *asm.Inst) (ends bool, err error) {
	for k, arg := range is.Args {
		if arg.Kind != asm.LabelArg {
			continue
		}
		if was != nil && !c.sameTarget(i, was, is, k) {
			return false, fmt.Errorf("jump to block %d leads to %d", was.Args[k].Imm, arg.Imm)
		}
		c.flow(int(arg.Imm))
	}
	return is.Op != asm.JCC, nil
}

// sameTarget reports whether a jump leads to where it led, if by a jump behind it, now
// that it jumps past that in the other case, or in a block at the end.
func (c *checker) sameTarget(i int, was, is *asm.Inst, k int) bool {
	via := int(is.Args[k].Imm)
	switch {
	case is.Cond == was.Cond && is.Args[k].Imm == was.Args[k].Imm:
		return true
	case is.Cond == was.Cond && via < len(c.before.Blocks):
		return false
	case is.Cond != was.Cond:
		if is.Cond != was.Cond^1 || via != i+1 {
			return false
		}
		via = i
	}
	insts := c.after.Blocks[via].Insts
	last := insts[len(insts)-1]
	return last.Op == asm.JMP && last.Args[0].Imm == was.Args[k].Imm
}

// move executes a move that was put in.
func (c *checker) move(is *asm.Inst) error {
	class := is.Args[0].Reg.Class()
	if is.Args[0].Kind == asm.MemArg {
		class = is.Args[1].Reg.Class()
	}
	dst, src := c.place(is.Args[0], class), c.place(is.Args[1], class)
	if dst >= physLocations {
		c.clobberSlots(dst)
	}
	c.state.held[dst] = c.state.held[src]
	return nil
}

func (c *checker) clobberSlots(place int) {
	s := c.slots[place-physLocations]
	for k, o := range c.slots {
		if o.off < s.off+s.size && s.off < o.off+o.size {
			c.state.held[physLocations+k] = nil
		}
	}
}

func (c *checker) place(arg asm.Arg, class asm.Class) int {
	if arg.Kind == asm.MemArg {
		return c.slot(arg, class)
	}
	return physLocation(arg.Reg)
}

// copy executes a COPY, which may have become a move.
func (c *checker) copy(i int, s step, was, is *asm.Inst) error {
	d, r := c.symbol(was.Args[0].Reg), c.symbol(was.Args[1].Reg)
	if is != nil {
		class := was.Args[0].Reg.Class()
		dst, src := c.place(is.Args[0], class), c.place(is.Args[1], class)
		if !c.state.has(src, r) {
			return fmt.Errorf("COPY reads %v, which does not hold virtual register %d", is.Args[1], was.Args[1].Reg.Num())
		}
		c.state.held[dst] = c.state.held[src]
	}
	if d == r {
		return nil
	}
	c.state.forget(d)
	if bit(c.state.undef, r) {
		c.state.undefine(d)
	}
	for p, l := range c.state.held {
		if slices.Contains(l, int32(r)) {
			c.state.put(p, d)
		}
	}
	return nil
}

// inst executes an instruction: it must read what the one before read.
func (c *checker) inst(was, is *asm.Inst) error {
	if was.Op != is.Op {
		return errors.New("instruction differs")
	}
	if clobbers(was.Op) {
		clear(c.state.held[:physLocations])
		return nil
	}
	ops := c.scratch.appendOperands(nil, was)
	for k := range ops {
		o := &ops[k]
		if !o.read || !o.reg.IsVirtual() && !c.allocatable(o.reg) {
			continue
		}
		if p := c.operandLocation(is, o); !c.state.has(p, c.symbol(o.reg)) {
			return fmt.Errorf("argument %d does not hold register %d of class %d", o.arg, o.reg.Num(), o.reg.Class())
		}
	}
	for k := range ops {
		if o := &ops[k]; o.write {
			if err := c.write(is, ops, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropped executes an instruction that was dropped: what it writes is made again
// where it is used.
func (c *checker) dropped(was *asm.Inst) error {
	r := was.Args[0].Reg
	if !slices.Contains(c.remats, r) {
		return fmt.Errorf("instruction that writes register %d of class %d was dropped", r.Num(), r.Class())
	}
	c.state.forget(c.symbol(r))
	c.keepRemat(r)
	return nil
}

func (c *checker) allocatable(r asm.Reg) bool { return slices.Contains(c.cfg.Regs[r.Class()], r) }

// write executes the write of an operand.
func (c *checker) write(is *asm.Inst, ops []operand, o *operand) error {
	p := c.operandLocation(is, o)
	for k := range ops {
		q := &ops[k]
		if q.reg != o.reg && (q.write || o.early) && c.operandLocation(is, q) == p {
			return fmt.Errorf("arguments %d and %d share a register", o.arg, q.arg)
		}
	}
	c.state.forget(c.symbol(o.reg))
	c.state.held[p] = nil
	c.state.put(p, c.symbol(o.reg))
	c.keepRemat(o.reg)
	return nil
}

// keepRemat notes that r, if it can be made again, was given its value.
func (c *checker) keepRemat(r asm.Reg) {
	for k, m := range c.remats {
		if m == r { // more than once if the caller also names what is found here
			c.state.put(c.remat0+k, c.symbol(r))
		}
	}
}

// operandLocation returns the location that an instruction has for an operand.
func (c *checker) operandLocation(is *asm.Inst, o *operand) int {
	switch o.part {
	case partIndex:
		return physLocation(is.Args[o.arg].Index)
	case partMask:
		return physLocation(is.Mask)
	}
	arg := is.Args[o.arg]
	if arg.Kind == asm.MemArg && arg.Reg == c.cfg.Base && o.memory {
		return c.slot(arg, o.reg.Class())
	}
	return physLocation(arg.Reg)
}
