package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Operations between the lanes of a vector. All of it are active: who uses them
// comes to them with whole warps.

// shuffle emits a move between lanes.
func (e *emitter) shuffle(v *ir.Value) error {
	x, y := v.Args[0], v.Args[1]
	if e.Of(v).Kind == analysis.UniformLanes { // all lanes have the same to give
		e.vals[v.ID] = e.kept(x)
		return nil
	}
	in := e.vectors(x)
	r := e.lanesOf(v.Type)
	e.vals[v.ID] = r
	if y.IsConst() {
		e.permuteFixed(r, in, fixedSources(e.isa.lanes(), v.Op, int64(y.Imm)))
		return nil
	}
	if from := e.namedSources(v.Op, y); from != nil {
		e.permuteFixed(r, in, from)
		return nil
	}
	if v.Op == ir.OpShflIdx && in.n == 1 && r.n == 1 { // the instruction takes numbers modulo that of lanes
		e.permute(r, in, e.lowWords(y), 0)
		return nil
	}
	from := e.sources(v.Op, y)
	if v.Op == ir.OpShflIdx {
		e.permute(r, in, from, 0)
		return nil
	}
	valid := e.mask()
	e.lessThan32(valid, from, uint32(e.isa.lanes()))
	e.permute(r, in, from, valid)
	return nil
}

// fixedSources returns the numbers of the lanes that a shuffle by a constant takes from: a
// lane's own where there is none.
func fixedSources(lanes int, op ir.Op, by int64) []uint32 {
	w := int64(lanes)
	from := make([]uint32, w)
	for lane := range w {
		n := lane
		switch op {
		case ir.OpShflIdx:
			n = by & (w - 1)
		case ir.OpShflXor:
			n = lane ^ by
		case ir.OpShflDown:
			n = lane + max(min(by, w), -w)
		default:
			n = lane - max(min(by, w), -w)
		}
		if n < 0 || n >= w {
			n = lane
		}
		from[lane] = uint32(n)
	}
	return from
}

// namedSources returns the numbers of the lanes that a shuffle takes from if constants and the lane's own
// number tell them, nil otherwise.
func (e *emitter) namedSources(op ir.Op, y *ir.Value) []uint32 {
	if op != ir.OpShflIdx {
		return nil
	}
	from := make([]uint32, e.isa.lanes())
	for lane := range from {
		n, ok := ofLane(y, int64(lane), laneOperations)
		if !ok {
			return nil
		}
		from[lane] = uint32(n) & uint32(len(from)-1)
	}
	return from
}

// laneOperations is how many operations in a row [ofLane] looks at.
const laneOperations = 6

// ofLane computes an index of 64 bits in one lane, by up to so many operations in a row on constants and
// the number of the lane.
func ofLane(v *ir.Value, lane int64, depth int) (int64, bool) {
	switch {
	case v.Type.Kind != ir.KI64:
		return 0, false
	case v.IsConst():
		return int64(v.Imm), true
	case v.Op == ir.OpLane:
		return lane, true
	case depth == 0 || len(v.Args) != 2:
		return 0, false
	}
	x, ok := ofLane(v.Args[0], lane, depth-1)
	if !ok {
		return 0, false
	}
	if y := v.Args[1]; y.IsConst() && y.Imm < 64 {
		switch v.Op {
		case ir.OpShr:
			return x >> y.Imm, true
		case ir.OpShl:
			return x << y.Imm, true
		}
	}
	y, ok := ofLane(v.Args[1], lane, depth-1)
	if !ok {
		return 0, false
	}
	switch v.Op {
	case ir.OpAdd:
		return x + y, true
	case ir.OpSub:
		return x - y, true
	case ir.OpMul:
		return x * y, true
	case ir.OpAnd:
		return x & y, true
	case ir.OpOr:
		return x | y, true
	case ir.OpXor:
		return x ^ y, true
	}
	return 0, false
}

// lowWords returns the lower 32 bits of an integer of 64 bits: of one that was made from them, these.
func (e *emitter) lowWords(y *ir.Value) asm.Reg {
	if e.Of(y).Kind == analysis.UniformLanes {
		r := e.vec()
		e.broadcastGeneral(r, e.general64(y))
		return r
	}
	if y.Op == ir.OpConvert && y.Args[0].Type.IsInt() && y.Args[0].Type.Size() == 4 {
		return e.vectors(y.Args[0]).reg[0]
	}
	return e.truncate(e.vectors(y)).reg[0]
}

// permuteFixed takes the lanes of x by numbers that are constants.
func (e *emitter) permuteFixed(r, x val, lanes []uint32) {
	if e.isa == v3 || x.n == 1 && r.n == 1 {
		e.permute(r, x, e.lanesToTake(lanes), 0)
		return
	}
	for h, d := range r.reg {
		var words []uint32
		for _, n := range lanes[h*len(lanes)/2:][:len(lanes)/2] {
			words = append(words, n, 0)
		}
		e.op(e.moveOp(), 512, asm.R(d), e.pool(words))
		e.op(asm.VPERMI2Q, 512, asm.R(d), asm.R(half(x, 0)), asm.R(half(x, 1)))
	}
}

// lanesToTake is a vector of constant numbers of lanes.
func (e *emitter) lanesToTake(lanes []uint32) asm.Reg {
	if r := e.taken[lanesKey(lanes)]; r != 0 {
		return r
	}
	return e.vop(e.moveOp(), e.pool(lanes))
}

func lanesKey(lanes []uint32) string { return fmt.Sprint(lanes) }

// mostTaken bounds how many vectors of numbers of lanes have registers for the whole kernel.
const mostTaken = 8

// loadLanesToTake loads the constants by which shuffles in loops take lanes.
func (e *emitter) loadLanesToTake() {
	e.taken = map[string]asm.Reg{}
	for i := range e.Blocks {
		if e.Blocks[i].Loop < 0 {
			continue
		}
		for _, v := range e.Blocks[i].Block.Instrs {
			if v.Op != ir.OpShflIdx || v.Type.Size() == 8 || e.Of(v).Kind == analysis.UniformLanes {
				continue
			}
			from := e.namedSources(v.Op, v.Args[1])
			if from == nil || e.taken[lanesKey(from)] != 0 || len(e.taken) == mostTaken {
				continue
			}
			r := e.vop(e.moveOp(), e.pool(from))
			e.taken[lanesKey(from)] = r
		}
	}
}

// sources returns the numbers of the lanes to take from, of those that there are
// not any with the sign bit or above the last.
func (e *emitter) sources(op ir.Op, y *ir.Value) asm.Reg {
	w := uint32(e.isa.lanes())
	by := e.distance(op, y)
	if op == ir.OpShflIdx {
		return by
	}
	r, iota := e.vec(), e.pool(iotaWords(int(w), 1))
	switch op {
	case ir.OpShflXor:
		e.op(e.pick(asm.VPXOR, asm.VPXORD), e.width(), asm.R(r), asm.R(by), iota)
	case ir.OpShflDown:
		e.op(asm.VPADDD, e.width(), asm.R(r), asm.R(by), iota)
	default:
		t := e.vec()
		e.op(e.moveOp(), e.width(), asm.R(t), iota)
		e.op(asm.VPSUBD, e.width(), asm.R(r), asm.R(t), asm.R(by))
	}
	return r
}

// distance returns operand y of a shuffle in 32 bits. What leads to no lane, forwards
// or backwards, becomes the number of lanes or less it, except for shfl.idx, which
// takes it modulo that.
func (e *emitter) distance(op ir.Op, y *ir.Value) asm.Reg {
	w := int64(e.isa.lanes())
	r := e.vec()
	if e.Of(y).Kind == analysis.UniformLanes {
		e.op(asm.MOV, 64, asm.R(asm.RCX), asm.R(e.general64(y)))
		e.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(w))
		if op != ir.OpShflIdx {
			e.op(asm.CMP, 64, asm.R(asm.RCX), asm.R(asm.RAX))
			e.cmov(asm.CondG, asm.RCX, asm.RAX)
			e.op(asm.NEG, 64, asm.R(asm.RAX))
			e.op(asm.CMP, 64, asm.R(asm.RCX), asm.R(asm.RAX))
			e.cmov(asm.CondL, asm.RCX, asm.RAX)
		}
		e.broadcastGeneral(r, asm.RCX)
	} else {
		full := e.vectors(y)
		if op == ir.OpShflIdx {
			r = e.truncate(full).reg[0]
		} else {
			r = e.within(full, uint32(w))
		}
	}
	if op != ir.OpShflIdx {
		return r
	}
	m := e.vec()
	e.op(e.pick(asm.VPAND, asm.VPANDD), e.width(), asm.R(m), asm.R(r), e.all32(uint32(w-1)))
	return m
}

// within returns the lanes of a signed 64-bit value in 32 bits, at most limit and at
// least less it.
func (c *code) within(x val, limit uint32) asm.Reg {
	var r asm.Reg
	if c.isa == v4 {
		r = c.narrow(asm.VPMOVSQD, x).reg[0]
	} else {
		lo := c.packMask(x.reg[0], half(x, 1))
		hi := c.highWords(x)
		fits := c.vxx(asm.VPCMPEQD, hi, c.vop(asm.VPSRAD, asm.R(lo), asm.I(31)))
		r = c.vec()
		c.op(asm.VBLENDVPS, 256, asm.R(r), asm.R(c.constant32(limit)), asm.R(lo), asm.R(fits))
	}
	r = c.vop(asm.VPMINSD, asm.R(r), c.all32(limit))
	return c.vop(asm.VPMAXSD, asm.R(r), c.all32(-limit))
}

// highWords returns the upper 32 bits of 64-bit lanes on x86-64-v3.
func (c *code) highWords(x val) asm.Reg {
	t := c.vop(asm.VSHUFPS, asm.R(x.reg[0]), asm.R(half(x, 1)), asm.I(0xdd))
	return c.vop(asm.VPERMQ, asm.R(t), asm.I(0xd8))
}

// clamped returns the lanes of a 64-bit value in 32 bits, at most limit.
func (e *code) clamped(x val, limit uint32) asm.Reg {
	r := e.vec()
	if e.isa == v4 {
		lo, hi := e.vec(), e.vec()
		e.op(asm.VPMOVUSQD, 512, asm.R(lo), asm.R(x.reg[0]))
		e.op(asm.VPMOVUSQD, 512, asm.R(hi), asm.R(half(x, 1)))
		e.op(asm.VPMINUD, 512, asm.R(r), asm.R(e.joinedHalves(lo, hi)), e.all32(limit))
		return r
	}
	// Where the high half is not zero the value is too large.
	lo, hi := e.vec(), e.vec()
	e.op(asm.VSHUFPS, 256, asm.R(lo), asm.R(x.reg[0]), asm.R(half(x, 1)), asm.I(0x88))
	e.op(asm.VSHUFPS, 256, asm.R(hi), asm.R(x.reg[0]), asm.R(half(x, 1)), asm.I(0xdd))
	zero, ok := e.zero(), e.vec()
	e.op(asm.VPCMPEQD, 256, asm.R(ok), asm.R(hi), asm.R(zero))
	all := e.vec()
	e.op(asm.VPCMPEQD, 256, asm.R(all), asm.R(zero), asm.R(zero))
	e.op(asm.VPXOR, 256, asm.R(ok), asm.R(ok), asm.R(all))
	e.op(asm.VPOR, 256, asm.R(lo), asm.R(lo), asm.R(ok))
	e.op(asm.VPMINUD, 256, asm.R(lo), asm.R(lo), e.all32(limit))
	e.op(asm.VPERMQ, 256, asm.R(r), asm.R(lo), asm.I(0xd8))
	return r
}

// lessThan32 sets m to the lanes of x that are below limit, unsigned.
func (e *emitter) lessThan32(m, x asm.Reg, limit uint32) {
	if e.isa == v4 {
		e.op(asm.VPCMPUD, 512, asm.R(m), asm.R(x), e.all32(limit), asm.I(1))
		return
	}
	small := e.vec()
	e.op(asm.VPMINUD, 256, asm.R(small), asm.R(x), e.all32(limit-1))
	e.op(asm.VPCMPEQD, 256, asm.R(m), asm.R(small), asm.R(x))
}

// permute takes the lanes of x by number, its own where valid is not set.
func (e *emitter) permute(r, x val, from, valid asm.Reg) {
	switch {
	case x.n == 2 || r.n == 2:
		e.permute64(r, x, from, valid)
	case e.isa == v4 && valid != 0:
		e.copy(r.reg[0], x.reg[0])
		in := e.op(asm.VPERMD, 512, asm.R(r.reg[0]), asm.R(from), asm.R(x.reg[0]))
		in.Mask = valid
	case valid != 0:
		t := e.vec()
		e.op(asm.VPERMD, 256, asm.R(t), asm.R(from), asm.R(x.reg[0]))
		e.op(asm.VBLENDVPS, 256, asm.R(r.reg[0]), asm.R(x.reg[0]), asm.R(t), asm.R(valid))
	default:
		e.op(asm.VPERMD, e.width(), asm.R(r.reg[0]), asm.R(from), asm.R(x.reg[0]))
	}
}

// permute64 does it for 64-bit values, through memory: they are in two vectors.
func (e *emitter) permute64(r, x val, from, valid asm.Reg) {
	e.dump(bufX, x, ir.I64)
	a := address{mem: ctxAt(bufX), off: val{reg: [2]asm.Reg{from}, n: 1}, scale: 8}
	if valid == 0 {
		valid = e.allLanes()
	}
	got := e.lanesOf(ir.I64)
	e.gatherWide(got, a, valid)
	for h := range int(r.n) {
		e.blendHalf(r.reg[h], true, h, valid, half(got, h), half(x, h))
	}
}

// vote emits a vote of the lanes.
func (e *emitter) vote(b *analysis.Placed, v *ir.Value) {
	m, x := e.masks[b.Class], e.maskOf(v.Args[0])
	r, t := e.gpr(), e.mask()
	e.vals[v.ID] = val{reg: [2]asm.Reg{r}, n: 1}
	if v.Op == ir.OpAll {
		e.maskAndNot(t, m, x)
	} else {
		e.maskAnd(t, m, x)
	}
	if v.Op == ir.OpBallot {
		e.bits(r, t)
		return
	}
	e.testMask(t)
	cond := asm.CondNE
	if v.Op == ir.OpAll {
		cond = asm.CondE
	}
	e.setcc(cond, r)
}
