package interp

import "github.com/gokiln/kiln/compiler/ir"

// load translates a load. The lanes of the result that are idle stay as they are,
// so it needs no temporary.
func (l *lowerer) load(v *ir.Value) {
	l.watch(v, plainRead)
	size := v.Type.Size()
	in := ins{how: special, d: l.scalar[v.ID], pos: int32(v.Pos)}
	fused := l.address(v.Args[0], &in)
	switch {
	case fused:
		in.f = bySize(size, gatherAt[uint8], gatherAt[uint16], gatherAt[uint32], gatherAt[uint64])
		in.setD(l.array(v))
	case l.class(v) == uniform:
		in.how, in.k = onScalar, bySize(size, loadOne[uint8], loadOne[uint16], loadOne[uint32], loadOne[uint64])
	case in.aw == 0:
		in.f = bySize(size, loadAffine[uint8], loadAffine[uint16], loadAffine[uint32], loadAffine[uint64])
		in.setD(l.array(v))
	default:
		in.f = bySize(size, gather[uint8], gather[uint16], gather[uint32], gather[uint64])
		in.setD(l.array(v))
	}
	l.emit(in)
	if v.Type != ir.Bool {
		return
	}
	fix := ins{how: in.how, k: fixBool, d: in.d, dw: in.dw, a: in.d, aw: in.dw}
	if fix.how == special {
		fix.how = perLane
	}
	l.emit(fix)
}

// effect translates an operation that writes memory, may fail or takes part in
// communication between threads.
func (l *lowerer) effect(v *ir.Value) {
	in := ins{how: special, pos: int32(v.Pos)}
	switch v.Op {
	case ir.OpStore:
		l.watch(v, plainWrite)
		l.store(v, &in)
	case ir.OpZero:
		l.watch(v, zeroing)
		in.f, in.imm = zeroObjects, uint64(v.Args[0].Type.Elem.Size())
		in.setA(l.ref(v.Args[0]))
	case ir.OpBounds, ir.OpNonNil, ir.OpDivisor, ir.OpCount, ir.OpAssert:
		l.check(v, &in)
	case ir.OpBarrier:
		in.f, l.whole = barrier, true
	case ir.OpGridBarrier:
		in.f, l.whole, l.grid = gridBarrier, true, true
	case ir.OpWarpBarrier:
		in.f, l.warps = warpBarrier, true
	case ir.OpFence, ir.OpFenceBlock:
		if v.Op == ir.OpFence {
			l.notice(noticeFence)
		} else {
			l.notice(noticeFenceBlock)
		}
		return // the operations of a block run in order, and atomics order all of Go's memory
	case ir.OpMBarInit, ir.OpMBarArrive, ir.OpMBarExpect, ir.OpMBarTest:
		l.mbarrier(v)
		return
	case ir.OpCopyBegun, ir.OpCopyCommit, ir.OpCopyWait, ir.OpCopyGroups:
		l.watchCopy(v)
		return
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		l.shuffle(v, &in)
	case ir.OpBallot, ir.OpAny, ir.OpAll:
		l.warps, in.wide = true, true
		in.f, in.imm = vote, uint64(v.Op)
		in.setD(l.array(v))
		in.setA(l.array(v.Args[0]))
	default:
		l.atomic(v, &in)
		return
	}
	l.emit(in)
	switch {
	case v.Op == ir.OpBarrier:
		l.notice(noticeBarrier)
	case v.Op == ir.OpWarpBarrier:
		l.notice(noticeWarps)
	case v.Op.Has(ir.Convergent):
		l.notice(noticeExchange)
	}
}

func (l *lowerer) store(v *ir.Value, in *ins) {
	size := v.Args[1].Type.Size()
	fused := l.address(v.Args[0], in)
	in.setC(l.elem(v.Args[1]))
	switch {
	case fused:
		in.f = bySize(size, scatterAt[uint8], scatterAt[uint16], scatterAt[uint32], scatterAt[uint64])
	case in.aw == 0:
		in.f = bySize(size, storeAffine[uint8], storeAffine[uint16], storeAffine[uint32], storeAffine[uint64])
	default:
		in.f = bySize(size, scatter[uint8], scatter[uint16], scatter[uint32], scatter[uint64])
	}
}

// address makes p the address of a load or store: operand a, or a and b if the
// instruction is to compute a + b*imm itself.
func (l *lowerer) address(p *ir.Value, in *ins) (fused bool) {
	if !l.fusedIntoAccess(p) {
		in.setA(l.ref(p))
		return false
	}
	in.setA(l.ref(p.Args[0]))
	in.setB(l.ref(p.Args[1]))
	in.imm = uint64(p.Type.Elem.Size())
	return true
}

func (l *lowerer) shuffle(v *ir.Value, in *ins) {
	l.warps, in.wide = true, true
	in.imm = uint64(v.Op)
	in.f = bySize(v.Type.Size(), shuffle[uint8], shuffle[uint16], shuffle[uint32], shuffle[uint64])
	in.setD(l.array(v))
	in.setA(l.array(v.Args[0]))
	in.setB(l.elem(v.Args[1]))
}

func (l *lowerer) atomic(v *ir.Value, in *ins) {
	switch { // to the checker, a release is a fence and an atomic write
	case v.Order()&ir.Release == 0:
	case v.Scope() == ir.DeviceScope:
		l.notice(noticeFence)
	default:
		l.notice(noticeFenceBlock)
	}
	switch v.Op {
	case ir.OpAtomicLoad:
		l.watch(v, atomicRead)
	case ir.OpAtomicStore:
		l.watch(v, atomicWrite)
	default:
		defer l.watch(v, atomicUpdate)
	}
	p := v.Args[0].Type
	in.f, in.imm = atomicFunc(v.Op, p.Elem, p.Space), uint64(v.Op)
	if v.Type != ir.Void {
		in.setD(l.array(v))
	}
	in.setA(l.ref(v.Args[0]))
	if len(v.Args) > 1 {
		in.setB(l.elem(v.Args[1]))
	}
	if len(v.Args) > 2 {
		in.setC(l.elem(v.Args[2]))
	}
	l.emit(*in)
}

// moveIns returns the instruction that makes a move for the active lanes.
func moveIns(m move) ins {
	in := ins{how: special, d: m.d, dw: m.dw, a: m.a, aw: m.aw}
	switch {
	case m.dw == 0:
		in.how = pairCopy
	case m.aw == 0:
		in.f = bySize(int(m.dw), assign[uint8], assign[uint16], assign[uint32], assignAffine)
	default:
		in.f = bySize(int(m.dw), copyActive[uint8], copyActive[uint16], copyActive[uint32], copyActive[uint64])
	}
	return in
}
