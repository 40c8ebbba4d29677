package kernels

import "github.com/gokiln/kiln/dsl"

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

// Kinds of steps of an operand in the innermost dimension, where Rows tell them apart.
const (
	Any  = iota // what Step says
	Unit        // neighbours are side by side
	Same        // one element for all
)

// Divisor is one for numbers below 2^31: q = (mulhi(x, Mul) + x) >> Shift (Granlund
// and Montgomery, "Division by invariant integers using multiplication", 1994).
type Divisor struct{ By, Mul, Shift uint32 }

// split returns the quotient of x and the remainder.
func (d Divisor) split(x int) (q, r int) {
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
	Kind [Operands]dsl.ConstInt // of Rows
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
			base := w.find(r, 1)
			for i := first + t.ThreadX(); i < end; i += t.BlockDimX() {
				f(w.along(base, i))
			}
		}
		return
	}
	for i := first + t.ThreadX(); i < end; i += t.BlockDimX() {
		if w.Mode == Flat {
			f([Operands]int{i, i, i, i, i, i})
		} else {
			f(w.find(i, 0))
		}
	}
}

// find returns where the operands have element i of the dimensions from one on.
func (w *Walk) find(i int, from int) (at [Operands]int) {
	for d := from; d < int(w.Rank); d++ {
		q, x := 0, i
		if d < int(w.Rank)-1 {
			if w.Wide {
				q = i / w.Size[d]
				x = i - q*w.Size[d]
			} else {
				q, x = w.Div[d].split(i)
			}
		}
		i = q
		for k := range at {
			at[k] += x * w.Step[k][d]
		}
	}
	return at
}

// along returns where the operands have element i of a row.
func (w *Walk) along(base [Operands]int, i int) [Operands]int {
	for k := range base {
		switch w.Kind[k] {
		case Unit:
			base[k] += i
		case Any:
			base[k] += i * w.Step[k][0]
		}
	}
	return base
}
