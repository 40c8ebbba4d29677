package kernels

import "github.com/gokiln/kiln/dsl"

// Rows that blocks stage in shared memory, a block a row; several blocks are resident on a
// multiprocessor. While a block stores a row, its next row is copied to where that one was.

// fetchVec starts the copy of w.Vec neighbours of a row to raw.
func fetchVec[T dsl.Number](x, raw []T, w Fold, l line, i int) {
	vec := int(w.Vec)
	from := l.x / vec * vec // which it is: the compiler sees what it may copy at once
	for k := range vec {
		dsl.CopyAsync(&raw[i*vec+k], &x[from+i*vec+k])
	}
}

// vectors is how many times w.Vec elements of a row a block has, of which the compiler
// knows a bound.
func (l *line) vectors(w Fold) int { return min(l.n, int(w.Block*w.Keep)) / int(w.Vec) }

// ofFetched is [ofKept] of a row in shared memory.
func ofFetched[T dsl.Float](raw []T, w Fold, l line, center dsl.ConstBool) (mean, s, n float32) {
	vec := int(w.Vec)
	if !center {
		eachVec(raw, w, l, l.vectors(w), func(v *[MostAhead]float32, _ int) {
			s += tree(v, 0, 1, vec, vec, 0, func(x float32) float32 { return x * x }, plus[float32])
		})
		return 0, s, 0
	}
	eachVec(raw, w, l, l.vectors(w), func(v *[MostAhead]float32, _ int) {
		n += float32(vec)
		mean += tree(v, 0, 1, vec, vec, 0, itself[float32], plus[float32])
	})
	mean /= max(n, 1)
	eachVec(raw, w, l, l.vectors(w), func(v *[MostAhead]float32, _ int) {
		s += tree(v, 0, 1, vec, vec, 0, func(x float32) float32 { return (x - mean) * (x - mean) }, plus[float32])
	})
	return mean, s, n
}

// ofAll returns the mean of a row, and the sum of the squares of the distances from it, given
// those of the elements of each thread, of which all have as many. There is one barrier: what
// warps have is in part, which no thread reads any more. Two parts of n elements each join as
// in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979.
func ofAll(t dsl.Thread, w Fold, part []float32, mean, s float32) (ofRow, squares float32) {
	n := float32(w.Keep)
	join := func(lanes int) {
		for d := 1; d < lanes; d *= 2 {
			m, q := dsl.ShuffleXor(t, mean, d), dsl.ShuffleXor(t, s, d)
			s += q + (mean-m)*(mean-m)*(n/2)
			mean = (mean + m) / 2
			n *= 2
		}
	}
	join(t.WarpSize())
	if t.Lane() == 0 {
		part[2*t.Warp()], part[2*t.Warp()+1] = mean, s
	}
	t.Sync()
	i := 2 * (t.Lane() % w.warps(t))
	mean, s = part[i], part[i+1]
	join(w.warps(t))
	return mean, s
}

// NormFetched is [Norm] of rows that blocks of w.Block threads have for themselves, of which a
// multiprocessor has so many resident.
//
//kiln:kernel
//kiln:const w.Block=64 w.Vec=4 w.Keep=16 w.Full=true,false w.Group=0 w.Whole=false w.Unit=true room=1
func NormFetched[T dsl.Float](t dsl.Thread, out, x, scale, shift []T, w Fold, room dsl.ConstInt, eps float32, center, scaled, shifted dsl.ConstBool) {
	dsl.LaunchBounds(t, w.Block, room)
	raw := dsl.SharedSlice[T](t, w.Block*w.Keep)
	parts, odd := dsl.SharedSlice[float32](t, 4*w.Block/dsl.ConstInt(t.WarpSize())), 0 // double buffering, as in [ScanKept]
	first := lineOf(t, w, t.BlockX())
	for i := first.lane; i < first.vectors(w); i += first.group {
		fetchVec(x, raw, w, first, i)
	}
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		l := lineOf(t, w, r)
		dsl.CopyWait()
		mean, s, n := ofFetched(raw, w, l, center)
		switch {
		case bool(center) && bool(w.Full) && w.warps(t) <= t.WarpSize():
			mean, s = ofAll(t, w, parts[odd:], mean, s)
			odd = 2*w.warps(t) - odd
		case bool(center):
			mean, s = joined(t, w, mean, s, n, float32(w.N))
			s = shared(t, w, s, sum[float32])
		default:
			s = shared(t, w, s, sum[float32])
		}
		f := 1 / dsl.Sqrt(s/float32(w.N)+eps)
		if r+t.GridDimX() < w.Rows {
			next := lineOf(t, w, r+t.GridDimX())
			giveFetched(out, scale, shift, raw, w, l, mean, f, center, scaled, shifted, func(i int) { fetchVec(x, raw, w, next, i) })
		} else {
			giveFetched(out, scale, shift, raw, w, l, mean, f, center, scaled, shifted, func(int) {})
		}
	}
}

// weighedAtOnce is for how many vectors a thread has the loads of weights in flight.
const weighedAtOnce = 2

// giveFetched stores what [Norm] makes of a row, and calls next for each vector of it that the
// thread needs no more.
func giveFetched[T dsl.Float](out, scale, shift, raw []T, w Fold, l line, mean, f float32, center, scaled, shifted dsl.ConstBool, next func(i int)) {
	vec, n := int(w.Vec), l.vectors(w)
	even := bool(w.Full) && w.Keep/w.Vec%weighedAtOnce == 0
	to := l.out / vec * vec
	for i := l.lane; i < n; i += weighedAtOnce * l.group {
		var v, a, b [weighedAtOnce][MostAhead]T
		for u := range weighedAtOnce {
			if j := i + u*l.group; even || j < n {
				for k := range vec {
					v[u][k] = raw[j*vec+k]
				}
			}
		}
		for u := range weighedAtOnce {
			if j := i + u*l.group; even || j < n {
				for k := range vec {
					if scaled {
						a[u][k] = scale[j*vec+k]
					}
					if shifted {
						b[u][k] = shift[j*vec+k]
					}
				}
			}
		}
		for u := range weighedAtOnce {
			if j := i + u*l.group; even || j < n {
				next(j)
			}
		}
		for u := range weighedAtOnce {
			if j := i + u*l.group; even || j < n {
				for k := range vec {
					y := normed(dsl.Convert[float32](v[u][k]), a[u][k], b[u][k], mean, f, center, scaled, shifted)
					out[to+j*vec+k] = dsl.Convert[T](y)
				}
			}
		}
	}
}
