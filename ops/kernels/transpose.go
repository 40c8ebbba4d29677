package kernels

import "github.com/gokiln/kiln/dsl"

// TileSize is how many rows and columns a block of Transpose moves at a time.
const TileSize = 32

// Tiles is a matrix of matrices that Transpose goes through: x has the elements of a row
// side by side, and the result those of a column.
type Tiles struct {
	Rows, Cols int
	XStep      int  // of x, from row to row
	OutStep    int  // of the result, from column to column
	Outer      Walk // over the matrices, as Dims
}

// Transpose copies matrices whose elements lie the other way round in the result, by
// tiles that are turned in shared memory: both sides are read and written side by side.
//
//kiln:kernel
func Transpose[T dsl.Number](t dsl.Thread, out, x []T, w Tiles) {
	tile := dsl.Shared[[TileSize][TileSize + 1]T](t)
	row0, col0 := t.BlockY()*TileSize, t.BlockX()*TileSize
	rows, cols := min(TileSize, w.Rows-row0), min(TileSize, w.Cols-col0)
	for z := t.BlockZ(); z < w.Outer.N; z += t.GridDimZ() {
		at := w.Outer.find(z, 0)
		for r := t.ThreadY(); r < rows; r += t.BlockDimY() {
			from := at[1] + (row0+r)*w.XStep + col0
			for c := t.ThreadX(); c < cols; c += t.BlockDimX() {
				tile[r][c] = x[from+c]
			}
		}
		t.Sync()
		for c := t.ThreadY(); c < cols; c += t.BlockDimY() {
			to := at[0] + (col0+c)*w.OutStep + row0
			for r := t.ThreadX(); r < rows; r += t.BlockDimX() {
				out[to+r] = tile[r][c]
			}
		}
		t.Sync()
	}
}
