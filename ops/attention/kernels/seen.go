package kernels

import "github.com/gokiln/kiln/dsl"

// SeenTiles stores 1 for each tile of m rows of a plane and n keys in which see is true of a query
// and a key, and 0 for others: seen has a row for each of p.Tiles tiles of rows, and each warp goes
// over a tile (the block mask of FlexAttention).
//
//kiln:kernel
func SeenTiles(t dsl.Thread, seen []uint8, p Problem, m, n int, see func(query, key int32) bool) {
	across := (p.Keys + n - 1) / n
	at := t.BlockX()*(t.BlockDimX()/t.WarpSize()) + t.Warp()
	if at >= p.Tiles*across {
		return
	}
	row, key := at/across*m, at%across*n
	any := false
	for i := t.Lane(); i < m*n; i += t.WarpSize() {
		r, c := row+i/n, key+i%n
		if r < p.Rows && c < p.Keys && see(int32(r%p.S+p.Off), int32(c)) {
			any = true
		}
	}
	any = dsl.Any(t, any)
	if t.Lane() == 0 {
		var is uint8
		if any {
			is = 1
		}
		seen[at] = is
	}
}
