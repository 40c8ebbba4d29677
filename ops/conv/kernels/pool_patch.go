package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Windows that are small and go over neighbours share what they meet: a thread has several
// of them, and loads a row of the input for all.

// AvgPoolPatch is [AvgPool] by patches. The walk has the planes of the result and of the
// input; shape and steps are those of a plane of the result. What is outside of the input
// adds 0.
//
//kiln:kernel
//kiln:const cfg.Down=1,2 cfg.Side=1,4 cfg.High=2 cfg.Long=2,3 cfg.Stride[0]=2 cfg.Stride[1]=1,2 cfg.Left=0 cfg.XVec=false cfg.OutVec=false p.Clip=false p.Over=false,true p.Inverse=false
func AvgPoolPatch[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, p Pooling, cfg Patch, shape, steps [2]int, add, div func(a, b C) C) {
	wide := int(cfg.Side)
	for i := t.Global(); i < cfg.N; i += t.GlobalSize() {
		plane, down, side := cfg.place(i)
		at := w.At(plane)
		y, z := down*int(cfg.Stride[0])-p.Pad[0], side*int(cfg.Stride[1])-int(cfg.Left)
		acc := dsl.LocalSlice[C](cfg.Down * cfg.Side)
		for r := range cfg.rows() {
			xs := dsl.LocalSlice[C](cfg.span())
			patchRow(xs, x, at[1], y+r, side, &cfg)
			for d := range int(cfg.Down) {
				if k := r - d*int(cfg.Stride[0]); k >= 0 && k < int(cfg.High) {
					for j := range int(cfg.Long) {
						for s := range wide {
							acc[d*wide+s] = add(acc[d*wide+s], xs[s*int(cfg.Stride[1])+j])
						}
					}
				}
			}
		}
		for d := range int(cfg.Down) {
			for s := range wide {
				acc[d*wide+s] = mean(acc[d*wide+s], int(cfg.High*cfg.Long), y+d*int(cfg.Stride[0]), z+s*int(cfg.Stride[1]), &p, div)
			}
			if down+d < shape[0] {
				patchStore(out, acc[d*wide:], at[0]+(down+d)*steps[0], side, shape[1], steps[1], &cfg)
			}
		}
	}
}

// MaxPoolPatch is [MaxPool] by patches, as [AvgPoolPatch] is. The walk has planes of the
// positions, too.
//
//kiln:kernel
//kiln:const cfg.Down=1,2 cfg.Side=1,4 cfg.High=2 cfg.Long=2,3 cfg.Stride[0]=2 cfg.Stride[1]=1,2 cfg.Left=0 cfg.XVec=false cfg.OutVec=false p.Clip=true,false p.Over=false
func MaxPoolPatch[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, which []int64, w core.Walk, p Pooling, cfg Patch, shape, steps, places [2]int, more func(a, b C) bool) {
	wide := int(cfg.Side)
	for i := t.Global(); i < cfg.N; i += t.GlobalSize() {
		plane, down, side := cfg.place(i)
		at := w.At(plane)
		y, z := down*int(cfg.Stride[0])-p.Pad[0], side*int(cfg.Stride[1])-int(cfg.Left)
		best, place := dsl.LocalSlice[C](cfg.Down*cfg.Side), dsl.LocalSlice[int](cfg.Down*cfg.Side)
		for e := range int(cfg.Down * cfg.Side) {
			place[e] = -1
		}
		for r := range cfg.rows() {
			xs := dsl.LocalSlice[C](cfg.span())
			patchRow(xs, x, at[1], y+r, side, &cfg)
			for d := range int(cfg.Down) {
				if k := r - d*int(cfg.Stride[0]); k >= 0 && k < int(cfg.High) {
					for j := range int(cfg.Long) {
						for s := range wide {
							e, c := d*wide+s, s*int(cfg.Stride[1])+j
							first := k+j == 0
							if p.Clip {
								first = place[e] < 0
							}
							if p.has(y, z, r, c) && (first || more(xs[c], best[e])) {
								best[e], place[e] = xs[c], (y+r)*p.In[1]+z+c
							}
						}
					}
				}
			}
		}
		for d := range int(cfg.Down) {
			if down+d >= shape[0] {
				continue
			}
			patchStore(out, best[d*wide:], at[0]+(down+d)*steps[0], side, shape[1], steps[1], &cfg)
			for s := range wide {
				if bool(p.Indices) && side+s < shape[1] {
					which[at[2]+(down+d)*places[0]+(side+s)*places[1]] = int64(place[d*wide+s])
				}
			}
		}
	}
}
