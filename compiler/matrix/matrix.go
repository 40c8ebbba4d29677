package matrix

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Unit is a matrix instruction.
type Unit struct {
	Name    string // shape and types, as the vendor's manual has them
	Kind    ir.MatrixKind
	M, N, K int // A has M rows and K columns, B has K rows and N columns
	A, B, C Layout

	// Swapped says that the first factor of the instruction is the transpose of B and the second one
	// that of A, so that it computes the transpose of the sums.
	Swapped bool

	// LoadMatrix says that a warp loads fragments of A and B from shared memory by ir.OpLoadMatrix:
	// 16 bytes for a lane, of which it names the address.
	LoadMatrix bool
	// Transposes says that it does so of matrices stored by columns, too.
	Transposes bool

	// Warpgroup is how many warps together multiply factors in shared memory by ir.OpWarpgroupMMA:
	// rows of A for each as A has them, and sums as C has them. 0 if the target cannot.
	Warpgroup int

	has func(t target.Target) bool
}

// Coord is a position in a matrix, or the distance of two.
type Coord struct{ Row, Col int }

// Layout distributes a matrix over lanes: which element is number i of lane l is the sum of what
// the bits of both contribute, the lowest first.
type Layout struct {
	Lane, Reg []Coord
}

// At returns the position of element i of a lane.
func (l Layout) At(lane, i int) (row, col int) {
	for _, part := range []struct {
		n    int
		bits []Coord
	}{{lane, l.Lane}, {i, l.Reg}} {
		for b, c := range part.bits {
			if part.n>>b&1 != 0 {
				row, col = row+c.Row, col+c.Col
			}
		}
	}
	return row, col
}

// vector is how many elements of a lane are contiguous along k, from a multiple of so many on; of
// says what a contribution is along k and across.
func (l Layout) vector(of func(Coord) (along, across int)) int {
	n, bits := 1, 0
	for ; bits < len(l.Reg); bits++ {
		if along, across := of(l.Reg[bits]); along != n || across != 0 {
			break
		}
		n *= 2
	}
	for _, c := range slices.Concat(l.Lane, l.Reg[bits:]) {
		for along, _ := of(c); along%n != 0; {
			n /= 2
		}
	}
	return n
}

// Len is how many elements a lane has.
func (l Layout) Len() int { return 1 << len(l.Reg) }

// Lanes is how many lanes the matrix is distributed over.
func (l Layout) Lanes() int { return 1 << len(l.Lane) }

// Of returns the layout of an operand.
func (u *Unit) Of(o ir.MatrixOperand) Layout {
	switch o {
	case ir.MatrixA:
		return u.A
	case ir.MatrixB:
		return u.B
	case ir.MatrixBSums:
		b, _, _ := u.reuse()
		return b
	}
	return u.C
}

// Fact returns a number of the unit, 0 of none.
func (u *Unit) Fact(f ir.MatrixFact) int {
	if u == nil {
		return 0
	}
	truth := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	switch f {
	case ir.MatrixM:
		return u.M
	case ir.MatrixN:
		return u.N
	case ir.MatrixK:
		return u.K
	case ir.MatrixLenA:
		return u.A.Len()
	case ir.MatrixLenB:
		return u.B.Len()
	case ir.MatrixLenC:
		return u.C.Len()
	case ir.MatrixLoads:
		return truth(u.LoadMatrix)
	case ir.MatrixWarpgroup:
		return u.Warpgroup
	case ir.MatrixVecA:
		return u.A.vector(func(c Coord) (along, across int) { return c.Col, c.Row })
	case ir.MatrixVecB:
		return u.B.vector(func(c Coord) (along, across int) { return c.Row, c.Col })
	case ir.MatrixNext:
		return u.C.Reg[0].Col
	case ir.MatrixRunA:
		return u.A.run()
	case ir.MatrixRunC:
		return u.C.run()
	case ir.MatrixRowLanes:
		return u.C.rowLanes()
	case ir.MatrixReuse:
		_, same, ok := u.reuse()
		return truth(ok) + truth(same)
	case ir.MatrixPacked:
		return 0 // of no warp's fragments
	}
	return truth(u.Transposes)
}

// For returns the unit of a target for a kind of product, nil if it has none.
func For(t target.Target, k ir.MatrixKind) *Unit {
	for i := range Units {
		if u := &Units[i]; u.Kind == k && u.has(t) {
			return u
		}
	}
	return nil
}

// Packed reports whether code for a target may have ir.OpPackedMMA for a kind of product: by tile
// registers, which processors with vectors of 16 lanes may have.
func Packed(t target.Target, k ir.MatrixKind) bool {
	return t.Kind == target.Native && t.WarpSize == 16 && (k == ir.MatrixBF16 || k == ir.MatrixI8 || k == ir.MatrixU8)
}
