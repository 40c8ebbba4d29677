package kernels

import (
	"github.com/gokiln/kiln/dsl"
)

// Computed is a type that kernels compute in.
type Computed interface{ dsl.Int | dsl.Uint | dsl.Real }

// Operands is how many operands a Walk has at most, the result included.
const Operands = 6

// MaxRank is how many dimensions a Walk has at most.
const MaxRank = 8

// Modes of a Walk.
const (
	Flat = iota // every operand lies in the order of the walk without gaps
	Rows        // blocks go through parts of the innermost dimension
	Dims        // blocks go through parts of all elements, and divide to get indices
)

// Kinds of steps of an operand in the innermost dimension, where Rows distinguish them.
const (
	Any        = iota // what Step says
	Contiguous        // neighbours are contiguous
	Same              // one element for all
)

// Divisor is one for numbers below 2^31: q = (mulhi(x, Mul) + x) >> Shift (Granlund
// and Montgomery, "Division by invariant integers using multiplication", 1994).
type Divisor struct{ By, Mul, Shift uint32 }

// DivMod returns the quotient of x and the remainder.
func (d Divisor) DivMod(x int) (q, r int) {
	u := uint32(x)
	v := (dsl.MulHi(u, d.Mul) + u) >> d.Shift
	return int(v), int(u - v*d.By)
}

// Walk says where the elements of up to [Operands] operands are that belong together.
// Dimensions are numbered from the innermost.
type Walk struct {
	Mode dsl.ConstInt
	Rank dsl.ConstInt           // of Rows and Dims, 1 or more
	Wide dsl.ConstBool          // indices of 31 bits are not enough for Div
	Kind [Operands]dsl.ConstInt // of Rows, and of Dims with vectors
	Many dsl.ConstInt           // elements that a thread loads before it stores one, for Flat and Dims; up to 1, it takes them one by one
	Vec  dsl.ConstInt           // so many of them, a power of two, are neighbours in the innermost dimension and begin at multiples of that
	Part int                    // how many elements a block goes through, of a row for Rows
	N    int                    // how many elements there are, in a row for Rows
	Rows int                    // how many rows there are, for Rows
	Div  [MaxRank]Divisor       // the sizes of the dimensions
	Size [MaxRank]int
	Step [Operands][MaxRank]int // the strides
}

// Each calls f for all elements that are the thread's, with where the operands have
// them.
func (w *Walk) Each(t dsl.Thread, f func(at [Operands]int)) {
	first := t.BlockX() * w.Part
	end := min(first+w.Part, w.N)
	if w.Mode == Rows {
		for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
			base := w.Find(r, 1)
			for i := first + t.ThreadX(); i < end; i += t.BlockDimX() {
				f(w.Along(base, i))
			}
		}
		return
	}
	for i := first + t.ThreadX(); i < end; i += t.BlockDimX() {
		if w.Mode == Flat {
			f([Operands]int{i, i, i, i, i, i})
		} else {
			f(w.Find(i, 0))
		}
	}
}

// Apply stores f of what load finds of every element that is the thread's. No element of
// out is stored before what is loaded of it, and of those after it within [Walk.Many]:
// memory of out may be that of an operand only where the layouts are the same.
func Apply[L any, T dsl.Number](t dsl.Thread, w *Walk, out []T, load func(at [Operands]int) L, f func(L) T) {
	part := t.BlockDimX() * int(w.Many)
	first := t.BlockX() * part
	if w.Many <= 1 || w.Part != part || first+part > w.N {
		w.Each(t, func(at [Operands]int) { out[at[0]] = f(load(at)) })
		return
	}
	vec, turn := int(w.Vec), t.BlockDimX()*int(w.Vec)
	first += t.ThreadX() * vec
	in, results := dsl.LocalSlice[L](w.Many), dsl.LocalSlice[T](w.Many)
	for k := range int(w.Many) {
		in[k] = load(w.beside(w.group(first+k/vec*turn), k%vec))
	}
	for k := range int(w.Many) {
		results[k] = f(in[k])
	}
	for k := range int(w.Many) {
		out[w.beside(w.group(first+k/vec*turn), k%vec)[0]] = results[k]
	}
}

// group returns where the operands have the first one of neighbours.
func (w *Walk) group(i int) (at [Operands]int) {
	if w.Mode == Flat {
		return [Operands]int{i, i, i, i, i, i}
	}
	at = w.Find(i, 0)
	for k := range at {
		if w.Vec > 1 && w.Kind[k] == Contiguous {
			at[k] &^= int(w.Vec) - 1 // which it is: the compiler sees what it may load at once
		}
	}
	return at
}

// beside returns where the operands have the neighbour of an element that comes i after it.
func (w *Walk) beside(at [Operands]int, i int) [Operands]int {
	switch {
	case i == 0:
		return at
	case w.Mode == Flat:
		i += at[0]
		return [Operands]int{i, i, i, i, i, i}
	}
	return w.Along(at, i)
}

// Find returns where the operands have element i of the dimensions from one on.
func (w *Walk) Find(i int, from int) (at [Operands]int) {
	for d := from; d < int(w.Rank); d++ {
		q, x := 0, i
		if d < int(w.Rank)-1 {
			if w.Wide {
				q = i / w.Size[d]
				x = i - q*w.Size[d]
			} else {
				q, x = w.Div[d].DivMod(i)
			}
		}
		i = q
		for k := range at {
			at[k] += x * w.Step[k][d]
		}
	}
	return at
}

// Along returns where the operands have element i of a row.
func (w *Walk) Along(base [Operands]int, i int) [Operands]int {
	for k := range base {
		switch w.Kind[k] {
		case Contiguous:
			base[k] += i
		case Any:
			base[k] += i * w.Step[k][0]
		}
	}
	return base
}

// LoadsInFlight is how many elements a thread loads before it stores the first.
const LoadsInFlight = 4

// Several calls f for the elements that are the thread's, a few at once, with where the
// operands have them and whether they are there; those that are not have the addresses of
// others.
func (w *Walk) Several(t dsl.Thread, f func(at [LoadsInFlight][Operands]int, in [LoadsInFlight]bool)) {
	first := t.BlockX() * w.Part
	end := min(first+w.Part, w.N)
	if w.Mode == Rows {
		for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
			base := w.Find(r, 1)
			for i := first + t.ThreadX(); i < end; i += LoadsInFlight * t.BlockDimX() {
				var at [LoadsInFlight][Operands]int
				var in [LoadsInFlight]bool
				for u := range LoadsInFlight {
					at[u], in[u] = w.Along(base, min(i+u*t.BlockDimX(), end-1)), i+u*t.BlockDimX() < end
				}
				f(at, in)
			}
		}
		return
	}
	for i := first + t.ThreadX(); i < end; i += LoadsInFlight * t.BlockDimX() {
		var at [LoadsInFlight][Operands]int
		var in [LoadsInFlight]bool
		for u := range LoadsInFlight {
			at[u], in[u] = w.At(min(i+u*t.BlockDimX(), end-1)), i+u*t.BlockDimX() < end
		}
		f(at, in)
	}
}

// At returns where the operands have element i, in any mode but Rows.
func (w *Walk) At(i int) [Operands]int {
	if w.Mode == Flat {
		return [Operands]int{i, i, i, i, i, i}
	}
	return w.Find(i, 0)
}
