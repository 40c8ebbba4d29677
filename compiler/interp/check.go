package interp

import (
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// check translates an operation that does nothing but fail.
func (l *lowerer) check(v *ir.Value, in *ins) {
	size := v.Args[0].Type.Size()
	switch v.Op {
	case ir.OpBounds:
		in.f, in.imm = checkBounds, v.Imm
		in.setA(l.ref(v.Args[0]))
		in.setB(l.ref(v.Args[1]))
	case ir.OpDivisor:
		in.f, in.imm = bySize(size, checkDivisor[uint8], checkDivisor[uint16], checkDivisor[uint32], checkDivisor[uint64]), uint64(v.Args[0].Type.Kind)
		in.setA(l.elem(v.Args[0]))
		in.setB(l.elem(v.Args[1]))
	case ir.OpCount:
		in.f = bySize(size, checkCount[int8], checkCount[int16], checkCount[int32], checkCount[int64])
		in.setA(l.elem(v.Args[0]))
	case ir.OpNonNil:
		in.f = checkSet
		in.setA(l.elem(v.Args[0]))
	default:
		in.f, in.imm = checkAssert, v.Imm|uint64(devlog.Asserting(len(v.Args)-1))<<32
		in.setA(l.elem(v.Args[0]))
		if len(v.Args) > 1 {
			in.setB(l.ref(v.Args[1]))
		}
		if len(v.Args) > 2 {
			in.setC(l.ref(v.Args[2]))
		}
	}
}

// checkBounds fails for the first lane whose index a is not in 0 to b.
func checkBounds(w *worker, in *ins) {
	if in.bw == 0 && *(*uint64)(w.at(in.b + 8)) == 0 {
		n := *(*int64)(w.at(in.b))
		if in.aw == 0 && w.insideAffine(in, n) || in.aw > 0 && w.insideArray(in, n) {
			return
		}
	}
	each(w, func(i int) {
		x, n := int64(w.lane(in.a, in.aw, i)), int64(w.lane(in.b, in.bw, i))
		if (x < 0 || x >= n) && w.err == nil {
			w.fail(in, i, "%s", devlog.Check(in.imm).OutOfRange(x, n))
		}
	})
}

// insideAffine checks the first and last lane, between which all others lie.
func (w *worker) insideAffine(in *ins, n int64) bool {
	p := *(*[2]int64)(w.at(in.a))
	if !w.tame(p, false) {
		return false
	}
	x, y := p[0]+int64(w.lo)*p[1], p[0]+int64(w.hi-1)*p[1]
	return min(x, y) >= 0 && max(x, y) < n
}

func (w *worker) insideArray(in *ins, n int64) bool {
	X := lanes[uint64](w.at(in.a), w.n)
	if n < 0 {
		return false
	}
	var bad uint64
	if w.sparse {
		for _, i := range w.active() {
			bad |= b2u(X[i] >= uint64(n))
		}
		return bad == 0
	}
	for _, x := range X[w.lo:w.hi] {
		bad |= b2u(x >= uint64(n))
	}
	return bad == 0
}

// checkDivisor fails for the first lane whose divisor b is zero.
func checkDivisor[T unsigned](w *worker, in *ins) {
	y, dist := w.value(in.b, in.bw)
	each(w, func(i int) {
		if w.err != nil || *(*T)(unsafe.Add(y, i*dist)) != 0 {
			return
		}
		x, dist := w.value(in.a, in.aw)
		dividend := (&ir.Type{Kind: ir.Kind(in.imm)}).Value(uint64(*(*T)(unsafe.Add(x, i*dist))))
		w.fail(in, i, "%s", devlog.DividedByZero(dividend))
	})
}

// checkCount fails for the first lane whose count a is negative.
func checkCount[T int8 | int16 | int32 | int64](w *worker, in *ins) {
	x, dist := w.value(in.a, in.aw)
	each(w, func(i int) {
		if n := *(*T)(unsafe.Add(x, i*dist)); n < 0 && w.err == nil {
			w.fail(in, i, "%s", devlog.NegativeShift(n))
		}
	})
}

// checkSet fails for the first lane whose pointer, of which a says whether it is
// set, is not.
func checkSet(w *worker, in *ins) {
	w.checkTrue(in, func(int) string { return devlog.NilPointer })
}

// checkAssert fails for the first lane whose condition a does not hold.
func checkAssert(w *worker, in *ins) {
	w.checkTrue(in, func(i int) string {
		check, text := devlog.Check(in.imm>>32), w.j.prog.module.Texts[uint32(in.imm)]
		var x, y int64
		if check > devlog.Assert {
			x = int64(w.lane(in.b, in.bw, i))
		}
		if check > devlog.AssertOne {
			y = int64(w.lane(in.c, in.cw, i))
		}
		return check.AssertedOf(text, x, y)
	})
}

func (w *worker) checkTrue(in *ins, message func(lane int) string) {
	cond, dist := w.value(in.a, in.aw)
	each(w, func(i int) {
		if w.err == nil && *(*uint8)(unsafe.Add(cond, i*dist)) == 0 {
			w.fail(in, i, "%s", message(i))
		}
	})
}
