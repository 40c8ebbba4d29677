package tile

import "github.com/gokiln/kiln/dsl"

// Orders of a factor in memory.
const (
	AlongK  = iota // contiguous along k: rows of A, columns of B
	AcrossK        // contiguous across k: columns of A, rows of B
)

// Config says how a block divides its product. The tile of the result has M rows and N columns, of
// which Down times Across warps have equal parts. K elements along k are in a stage; with their
// neighbours in memory they are rows of at least 128 bytes: K of a factor in order AlongK is a
// multiple of 8·Chunk, and so is M or N of one in order AcrossK.
type Config struct {
	M, N, K      dsl.ConstInt
	Down, Across dsl.ConstInt  // warps
	Stages       dsl.ConstInt  // how many stages shared memory holds, 2 or more
	Chunk        dsl.ConstInt  // elements in 16 bytes
	A, B         dsl.ConstInt  // orders of the factors
	Bulk         dsl.ConstBool // factors have tensor maps, for devices with warpgroup instructions
	OutSize      dsl.ConstInt  // bytes of a result that Store stores, 0 if it does not
	Cluster      dsl.ConstInt  // neighbouring blocks that copy equal parts of B for each other, 2 to 8; 0 or 1: none
	Promote      dsl.ConstInt  // after so many stages, their sums are added to the others outside of the instruction, see [EachScaled]; 0: never
	AVec, BVec   dsl.ConstBool // chunks are contiguous in memory, aligned, and all inside or all outside
}

// Warps is how many warps a block has.
func (c *Config) Warps() dsl.ConstInt { return c.Down * c.Across }

// Threads is how many threads multiply.
func (c *Config) Threads(t dsl.Thread) dsl.ConstInt { return c.Warps() * dsl.ConstInt(t.WarpSize()) }

// Block is how many threads a block has: with bulk copies a warpgroup is for these.
func (c *Config) Block(t dsl.Thread) dsl.ConstInt {
	if c.Bulk {
		return c.Threads(t) + warpgroup*dsl.ConstInt(t.WarpSize())
	}
	return c.Threads(t)
}

// boxColumns is how many results are 128 bytes.
func (c *Config) boxColumns() dsl.ConstInt { return panel * chunkBytes / max(c.OutSize, 1) }

// cluster is how many blocks copy for each other.
func (c *Config) cluster() dsl.ConstInt { return max(c.Cluster, 1) }

// Sums is how many sums a thread has.
func (c *Config) Sums(t dsl.Thread) dsl.ConstInt { return c.M * c.N / c.Threads(t) }

// Shared is how many elements of factors a block has in shared memory.
func (c *Config) Shared() int { return int(c.Stages * c.K * (c.M + c.N)) }

// Factor is a matrix in memory: that of a block's rows or columns.
type Factor[T dsl.Number] struct {
	Mem    []T
	At     int // where the first row or column of the block begins
	Limit  int // how many rows or columns there are from it on
	Across int // stride from one to the next
	Along  int // stride along k

	// Where the block begins in the tensor that Map describes, if the Config says Bulk. Its box is a
	// stage of the factor in order AlongK, and 128 bytes of each of its rows in order AcrossK.
	Map   dsl.TensorMap
	Row   int // which of the rows or columns
	K     int
	Plane int

	// Two factors B in one, a compile-time constant: half of the tile's columns are of Mem, and behind
	// them are those of Up, which has the same strides and begins at UpAt. They are for one warp across;
	// stages in order AlongK are 8·Chunk along k. See [EachGated].
	Gated bool
	Up    []T
	UpAt  int
	UpMap dsl.TensorMap

	// Rows of memory in pages of so many, a compile-time constant, 0 for none: those along k of a
	// factor in order AcrossK, and else its rows or columns. Row n is row n%Page of page
	// Pages[n/Page], of which the first element is PageStride elements behind that of the one before
	// it in Mem. At is where the first column is in page 0, and First the row that the block, or the
	// product, begins with.
	Page       dsl.ConstInt
	Pages      []int32
	PageStride int
	First      int
}

// up is the second of two factors.
func (f Factor[T]) up() Factor[T] {
	f.Mem, f.At, f.Map = f.Up, f.UpAt, f.UpMap
	return f
}

// halves is how many factors B has.
func (f *Factor[T]) halves() dsl.ConstInt {
	if f.Gated {
		return 2
	}
	return 1
}

// part returns where in the tile the warp's part begins.
func (c *Config) part(t dsl.Thread) (row, col int) {
	w := t.Warp()
	return w / int(c.Across) * int(c.M/c.Down), w % int(c.Across) * int(c.N/c.Across)
}
