package kernels

import "github.com/gokiln/kiln/dsl"

// Tiling is what a thread of SGEMM computes, and how many threads of a block are in a row.
type Tiling struct {
	High, Each dsl.ConstInt // rows and columns of c that a thread computes
	Wide       dsl.ConstInt // threads of a row of threads, neighbours in neighbouring columns
}

// PackA writes a, row-major with k columns, as bands of height rows, each of them
// column after column, so that SGEMM reads it from end to end. In the last band there
// are zeros below the rows of a.
//
//kiln:kernel
func PackA(t dsl.Thread, out, a []float32, k int, height dsl.ConstInt) {
	h, band, i := int(height), t.BlockY(), t.GlobalX()
	if i >= k {
		return
	}
	for r := range h {
		v := float32(0)
		if at := (band*h+r)*k + i; at < len(a) {
			v = a[at]
		}
		out[(band*k+i)*h+r] = v
	}
}

// PackB writes b, row-major with k rows of n, as panels of width columns, each of
// them row after row. A block is as wide as a panel.
//
//kiln:kernel
func PackB(t dsl.Thread, out, b []float32, n, k int, width dsl.ConstInt) {
	w, panel, row := int(width), t.BlockX(), t.GlobalY()
	if row < k {
		out[(panel*k+row)*w+t.ThreadX()] = b[row*n+panel*w+t.ThreadX()]
	}
}

// SGEMM computes c = a·b with n columns, of a in bands of High rows and b in panels
// of Wide·Each columns, with k numbers in a sum. A block has Wide threads side by
// side, and any number of bands on top of each other; the panel that they share
// stays in the cache. Neighbouring threads read a in one place and b in a row.
//
//kiln:kernel
func SGEMM(t dsl.Thread, c, a, b []float32, n, k int, cfg Tiling) {
	wide, high, each := int(cfg.Wide), int(cfg.High), int(cfg.Each)
	width := wide * each
	band, panel, x := t.GlobalY(), t.BlockX(), t.ThreadX()
	if band*high*n >= len(c) {
		return
	}
	as, bs := a[band*k*high:][:k*high], b[panel*k*width:][:k*width]
	acc, v := dsl.LocalSlice[float32](cfg.High*cfg.Each), dsl.LocalSlice[float32](cfg.Each)
	j := x
	for i := 0; i < len(as)-(high-1); i += high {
		for e := range each {
			v[e] = bs[j+e*wide]
		}
		for h := range high {
			for e := range each {
				acc[h*each+e] = dsl.FMA(as[i+h], v[e], acc[h*each+e])
			}
		}
		j += width
	}
	to := c[band*high*n:]
	for h := range high {
		if len(to) < n {
			break
		}
		for e := range each {
			to[panel*width+e*wide+x] = acc[h*each+e]
		}
		to = to[n:]
	}
}
