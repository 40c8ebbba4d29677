package kernels

import "github.com/gokiln/kiln/dsl"

// Strided says where the elements of a tensor are, for kernels that index it in their own
// way: element (i, j, …) is i·Step[0] + j·Step[1] + … behind the first one. Dimensions
// are numbered as in shapes, from the outermost.
type Strided struct {
	Rank  dsl.ConstInt
	Count int // how many elements there are
	Size  [MaxRank]int
	Step  [MaxRank]int
}

// At returns where element i is, of all elements in row-major order.
func (s *Strided) At(i int) int {
	at := 0
	for d := int(s.Rank) - 1; d >= 0; d-- {
		x := i
		if d > 0 {
			i /= s.Size[d]
			x -= i * s.Size[d]
		}
		at += x * s.Step[d]
	}
	return at
}
