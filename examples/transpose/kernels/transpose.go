package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the kernel's source travels inside the binary

// Config is how Transpose divides its work. What is best depends on the device.
type Config struct {
	Tile dsl.ConstInt // rows and columns of a tile, which is turned in shared memory
	Rows dsl.ConstInt // rows of threads in a block, of Tile threads each
}

// Transpose writes the transpose of the n×m matrix in to the m×n matrix out: out[j*n+i] = in[i*m+j].
// The grid has a block for each tile.
//
//kiln:kernel
func Transpose[T dsl.Number](t dsl.Thread, out, in []T, n, m int, c Config) {
	side, pitch := int(c.Tile), int(c.Tile)+1 // one more, so that a column lies in all banks
	tile := dsl.SharedSlice[T](t, c.Tile*(c.Tile+1))
	i0, j0 := t.BlockY()*side, t.BlockX()*side
	x := t.ThreadX()
	for y := t.ThreadY(); y < side; y += int(c.Rows) {
		if i0+y < n && j0+x < m {
			tile[y*pitch+x] = in[(i0+y)*m+j0+x]
		}
	}
	t.Sync()
	for y := t.ThreadY(); y < side; y += int(c.Rows) {
		if j0+y < m && i0+x < n {
			out[(j0+y)*n+i0+x] = tile[x*pitch+y]
		}
	}
}
