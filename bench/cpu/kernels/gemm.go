package kernels

import "github.com/gokiln/kiln/dsl"

// Tiling is how SGEMM divides its work. A block has Cols/Each by Rows/High threads.
type Tiling struct {
	Rows, Cols dsl.ConstInt // of c that a block computes
	Depth      dsl.ConstInt // of the tiles in shared memory
	High, Each dsl.ConstInt // rows and columns of c that a thread computes
}

// SGEMM computes c = a·b for row-major matrices of m by k and k by n, with tiles
// in shared memory and High by Each elements of c in the registers of each thread.
// Threads of a warp compute neighbouring columns of the same rows, so that they
// read a in one place and b side by side. The sides are multiples of the tile's.
//
//kiln:kernel
func SGEMM(t dsl.Thread, c, a, b []float32, n, k int, cfg Tiling) {
	rows, cols, depth := int(cfg.Rows), int(cfg.Cols), int(cfg.Depth)
	wide, high := int(cfg.Cols/cfg.Each), int(cfg.Rows/cfg.High)
	as := dsl.SharedSlice[float32](t, cfg.Rows*cfg.Depth)
	bs := dsl.SharedSlice[float32](t, cfg.Depth*cfg.Cols)
	acc := dsl.LocalSlice[float32](cfg.High * cfg.Each)
	x, y := t.ThreadX()%wide, t.ThreadY()%high // which is no change, but says what the indices cannot exceed
	row, col := t.BlockY()*rows, t.BlockX()*cols
	for k0 := 0; k0 < k; k0 += depth {
		for r := y; r < rows; r += high {
			for i := x; i < depth; i += wide {
				as[r*depth+i] = a[(row+r)*k+k0+i]
			}
		}
		for r := y; r < depth; r += high {
			for i := x; i < cols; i += wide {
				bs[r*cols+i] = b[(k0+r)*n+col+i]
			}
		}
		t.Sync()
		for i := range depth {
			atA, atB := y*int(cfg.High)*depth+i, i*cols+x
			for e := range int(cfg.Each) {
				v := bs[atB+e*wide]
				for h := range int(cfg.High) {
					acc[h*int(cfg.Each)+e] = dsl.FMA(as[atA+h*depth], v, acc[h*int(cfg.Each)+e])
				}
			}
		}
		t.Sync()
	}
	for h := range int(cfg.High) {
		for e := range int(cfg.Each) {
			c[(row+y*int(cfg.High)+h)*n+col+e*wide+x] = acc[h*int(cfg.Each)+e]
		}
	}
}
