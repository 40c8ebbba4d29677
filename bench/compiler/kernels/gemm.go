package kernels

import "github.com/gokiln/kiln/dsl"

const (
	tileMN = 128 // rows and columns of c that a block computes
	tileK  = 8   // depth of the tiles in shared memory
	lane   = 8   // rows and columns of c that a thread computes
)

// SGEMM computes c = a·b for row-major matrices of m by k and k by n, with
// tiles in shared memory and an 8-by-8 tile of c in the registers of each of 256
// threads. The sides are multiples of the tile's.
//
//kiln:kernel
func SGEMM(t dsl.Thread, c, a, b []float32, m, n, k int) {
	as := dsl.Shared[[tileK][tileMN]float32](t)
	bs := dsl.Shared[[tileK][tileMN]float32](t)
	id := t.ThreadX()
	row, col := t.BlockY()*tileMN, t.BlockX()*tileMN
	ar, ac := id/2, id%2   // the vector of a that this thread brings
	br, bc := id/32, id%32 // and that of b
	tr, tc := id/16, id%16 // its place in the tile of c
	var acc [lane][lane]float32
	for k0 := 0; k0 < k; k0 += tileK {
		va := dsl.LoadVec[[4]float32](a, (row+ar)*(k/4)+k0/4+ac)
		vb := dsl.LoadVec[[4]float32](b, (k0+br)*(n/4)+col/4+bc)
		for j := range 4 {
			as[ac*4+j][ar] = va[j]
		}
		for j := range 4 {
			bs[br][bc*4+j] = vb[j]
		}
		t.Sync()
		for kk := range tileK {
			var x, y [lane]float32
			for j := range 4 {
				x[j], x[j+4] = as[kk][tr*4+j], as[kk][tr*4+j+64]
				y[j], y[j+4] = bs[kk][tc*4+j], bs[kk][tc*4+j+64]
			}
			for i := range lane {
				for j := range lane {
					acc[i][j] = dsl.FMA(x[i], y[j], acc[i][j])
				}
			}
		}
		t.Sync()
	}
	for i := range lane {
		at := (row+tr*4+i/4*64+i%4)*(n/4) + col/4 + tc
		dsl.StoreVec(c, at, [4]float32{acc[i][0], acc[i][1], acc[i][2], acc[i][3]})
		dsl.StoreVec(c, at+16, [4]float32{acc[i][4], acc[i][5], acc[i][6], acc[i][7]})
	}
}
