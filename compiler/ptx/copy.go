package ptx

import "github.com/gokiln/kiln/compiler/ir"

// copyVec writes an asynchronous copy of a vector: as many copies as its alignment asks for, each
// of zeros where its condition does not hold. Those of 16 bytes, and no others, can leave the
// first-level cache to what is read more than once.
func (e *emitter) copyVec(v *ir.Value) {
	to, from := e.addressOf(v.Args[0]), e.addressOf(v.Args[1])
	elem := v.Args[0].Type.Elem
	total := elem.Size() * int(v.Imm)
	unit := maxVector
	for unit > elem.Size() && (unit > total || !to.multiple(unit) || !from.multiple(unit)) {
		unit /= 2
	}
	if unit < minCopy {
		e.copyByLoads(v, to, from)
		return
	}
	cache := "ca"
	if unit == maxVector {
		cache = "cg"
	}
	read := e.copiedBytes(v.Args[2], unit)
	for at := 0; at < total; at += unit {
		in := inst{effect: true, pos: e.pos, frags: append([]frag{text("cp.async." + cache + ".shared.global ")}, to.frags(int64(at))...)}
		in.frags = append(append(in.frags, text(", ")), from.frags(int64(at))...)
		in.frags = append(append(in.frags, text(", "), number(int64(unit))), read...)
		e.insts = append(e.insts, in)
	}
}

// copiedBytes is the operand for how many bytes are read, which copies of all do without.
func (e *emitter) copiedBytes(ok *ir.Value, unit int) []frag {
	if bits, is := e.constant(ok); is {
		if bits != 0 {
			return nil
		}
		return []frag{text(", "), number(0)}
	}
	return []frag{text(", "), use(e.compute(b32, "selp.b32", number(int64(unit)), number(0), use(e.register(ok))))}
}

// copyByLoads writes a copy whose parts are smaller than any that go on beside the thread.
func (e *emitter) copyByLoads(v *ir.Value, to, from addr) {
	elem := v.Args[0].Type.Elem
	k := kindOf(elem)
	ok, is := e.constant(v.Args[2])
	values := make([]frag, v.Imm)
	for i := range values {
		r := e.newReg(classOf(k))
		values[i] = use(r)
		load := inst{defs: 1, pos: e.pos}
		if !is || ok == 0 {
			e.add("mov."+classNames[classOf(k)].bits, 1, use(r), number(0))
			load.defs, load.effect = 0, true
			load.frags = append(load.frags, text("@"), use(e.register(v.Args[2])), text(" "))
		}
		load.frags = append(load.frags, text("ld.global."+memType(k)+" "), use(r), text(", "))
		load.frags = append(load.frags, from.frags(int64(i*elem.Size()))...)
		e.insts = append(e.insts, load)
	}
	for i, x := range values {
		store := inst{effect: true, pos: e.pos, frags: append([]frag{text("st.shared." + memType(k) + " ")}, to.frags(int64(i*elem.Size()))...)}
		store.frags = append(store.frags, text(", "), x)
		e.insts = append(e.insts, store)
	}
}
