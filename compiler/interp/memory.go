package interp

import "unsafe"

// address is a 64-bit number in an array of addresses, seen as a pointer to device
// memory or to the worker's own; a 32-bit host has its pointer in the low half.
type address [8 / unsafe.Sizeof(uintptr(0))]unsafe.Pointer

// pointers views an array of addresses.
func (w *worker) pointers(off int32) []address {
	return lanes[address](w.at(off), w.n)
}

// pointer returns the base and the step of an affine address.
func (w *worker) pointer(off int32) (base unsafe.Pointer, step int) {
	return *(*unsafe.Pointer)(w.at(off)), int(*(*int64)(w.at(off + 8)))
}

// loadOne loads through one address for all lanes.
func loadOne[T unsigned](d, a, _, _ unsafe.Pointer, _ int) {
	*(*T)(d) = **(**T)(a)
}

func gather[T unsigned](w *worker, in *ins) {
	D, P := lanes[T](w.at(in.d), w.n), w.pointers(in.a)
	if w.sparse {
		for _, i := range w.active() {
			D[i] = *(*T)(P[i][0])
		}
		return
	}
	D = D[w.lo:w.hi]
	P = P[w.lo:w.hi][:len(D)]
	for i := range D {
		D[i] = *(*T)(P[i][0])
	}
}

func loadAffine[T unsigned](w *worker, in *ins) {
	D := lanes[T](w.at(in.d), w.n)
	p, step := w.pointer(in.a)
	if w.sparse {
		for _, i := range w.active() {
			D[i] = *(*T)(unsafe.Add(p, int(i)*step))
		}
		return
	}
	D = D[w.lo:w.hi]
	p = unsafe.Add(p, w.lo*step)
	if step == int(unsafe.Sizeof(D[0])) {
		copy(D, lanes[T](p, len(D)))
		return
	}
	for i := range D {
		D[i] = *(*T)(unsafe.Add(p, i*step))
	}
}

// value returns the array or scalar to be stored, as a pointer to lane 0 and the
// distance of lanes.
func (w *worker) value(off int32, width uint8) (unsafe.Pointer, int) {
	return w.at(off), int(width)
}

func scatter[T unsigned](w *worker, in *ins) {
	P := w.pointers(in.a)
	v, dist := w.value(in.c, in.cw)
	if w.sparse {
		for _, i := range w.active() {
			*(*T)(P[i][0]) = *(*T)(unsafe.Add(v, int(i)*dist))
		}
		return
	}
	P = P[w.lo:w.hi]
	v = unsafe.Add(v, w.lo*dist)
	for i := range P {
		*(*T)(P[i][0]) = *(*T)(unsafe.Add(v, i*dist))
	}
}

func storeAffine[T unsigned](w *worker, in *ins) {
	p, step := w.pointer(in.a)
	v, dist := w.value(in.c, in.cw)
	if step == 0 { // the last lane wins
		*(*T)(p) = *(*T)(unsafe.Add(v, (w.hi-1)*dist))
		return
	}
	if w.sparse {
		for _, i := range w.active() {
			*(*T)(unsafe.Add(p, int(i)*step)) = *(*T)(unsafe.Add(v, int(i)*dist))
		}
		return
	}
	n := w.hi - w.lo
	p, v = unsafe.Add(p, w.lo*step), unsafe.Add(v, w.lo*dist)
	if dist != 0 && step == dist {
		copy(lanes[T](p, n), lanes[T](v, n))
		return
	}
	for i := range n {
		*(*T)(unsafe.Add(p, i*step)) = *(*T)(unsafe.Add(v, i*dist))
	}
}

// gatherAt loads through addresses that it computes: base plus varying index, or
// varying base plus distance.
func gatherAt[T unsigned](w *worker, in *ins) {
	D := lanes[T](w.at(in.d), w.n)
	if in.aw > 0 {
		P, dist := w.pointers(in.a), int(*(*uint64)(w.at(in.b))*in.imm)
		if w.sparse {
			for _, i := range w.active() {
				D[i] = *(*T)(unsafe.Add(P[i][0], dist))
			}
			return
		}
		D = D[w.lo:w.hi]
		P = P[w.lo:w.hi][:len(D)]
		for i := range D {
			D[i] = *(*T)(unsafe.Add(P[i][0], dist))
		}
		return
	}
	p, step := w.pointer(in.a)
	X, size := lanes[int64](w.at(in.b), w.n), int(in.imm)
	switch {
	case w.sparse:
		for _, i := range w.active() {
			D[i] = *(*T)(unsafe.Add(p, int(i)*step+int(X[i])*size))
		}
	case step == 0 && size == int(unsafe.Sizeof(D[0])):
		D = D[w.lo:w.hi]
		X = X[w.lo:w.hi][:len(D)]
		for i := range D {
			D[i] = *(*T)(unsafe.Add(p, int(X[i])*int(unsafe.Sizeof(D[0]))))
		}
	default:
		for i := w.lo; i < w.hi; i++ {
			D[i] = *(*T)(unsafe.Add(p, i*step+int(X[i])*size))
		}
	}
}

// scatterAt stores through addresses that it computes, as gatherAt does.
func scatterAt[T unsigned](w *worker, in *ins) {
	v, vd := w.value(in.c, in.cw)
	if in.aw > 0 {
		P, dist := w.pointers(in.a), int(*(*uint64)(w.at(in.b))*in.imm)
		if w.sparse {
			for _, i := range w.active() {
				*(*T)(unsafe.Add(P[i][0], dist)) = *(*T)(unsafe.Add(v, int(i)*vd))
			}
			return
		}
		for i := w.lo; i < w.hi; i++ {
			*(*T)(unsafe.Add(P[i][0], dist)) = *(*T)(unsafe.Add(v, i*vd))
		}
		return
	}
	p, step := w.pointer(in.a)
	X, size := lanes[int64](w.at(in.b), w.n), int(in.imm)
	if w.sparse {
		for _, i := range w.active() {
			*(*T)(unsafe.Add(p, int(i)*step+int(X[i])*size)) = *(*T)(unsafe.Add(v, int(i)*vd))
		}
		return
	}
	for i := w.lo; i < w.hi; i++ {
		*(*T)(unsafe.Add(p, i*step+int(X[i])*size)) = *(*T)(unsafe.Add(v, i*vd))
	}
}

// zeroObjects clears the object of size imm that each lane points to.
func zeroObjects(w *worker, in *ins) {
	each(w, func(i int) {
		p := w.lane(in.a, in.aw, i)
		clear(lanes[byte](*(*unsafe.Pointer)(unsafe.Pointer(&p)), int(in.imm)))
	})
}

// each calls fn for the active lanes in order.
func each(w *worker, fn func(i int)) {
	if w.sparse {
		for _, i := range w.active() {
			fn(int(i))
		}
		return
	}
	for i := w.lo; i < w.hi; i++ {
		fn(i)
	}
}
