package format

// tiny is what magnitudes of a group are taken for zeros below.
const tiny = 1e-15

// searchSymmetric chooses integers q of -n to n-1, stored as q+n, and returns the scale d for which
// the sum of w·(x - d·q)² is smallest, out of 19 scales around that which takes the extreme to -n.
// Without weights, the weights are x².
func searchSymmetric(n int32, x []float32, q []uint8, w []float32) float32 {
	most := extreme(x)
	if abs(most) < tiny {
		clear8(q, len(x))
		return 0
	}
	inv := -float32(n) / most
	lx, l2 := fitSymmetric(n, x, w, inv)
	roundSymmetric(n, x, q, inv)
	var scale float32
	if l2 != 0 {
		scale = lx / l2
	}
	best := scale * lx
	for step := int32(-9); step <= 9; step++ {
		if step == 0 {
			continue
		}
		inv = -(float32(n) + float32(0.1*float32(step))) / most
		lx, l2 = fitSymmetric(n, x, w, inv)
		if l2 > 0 && lx*lx > best*l2 {
			roundSymmetric(n, x, q, inv)
			scale = lx / l2
			best = scale * lx
		}
	}
	return scale
}

// fitSymmetric returns the sums of w·x·q and w·q² for q = x·inv rounded.
func fitSymmetric(n int32, x, w []float32, inv float32) (lx, l2 float32) {
	for i := range x {
		l := float32(nearestIn(inv*x[i], -n, n-1))
		weight := float32(x[i] * x[i])
		if len(w) > 0 {
			weight = w[i]
		}
		lx += float32(float32(weight*x[i]) * l)
		l2 += float32(float32(weight*l) * l)
	}
	return lx, l2
}

func roundSymmetric(n int32, x []float32, q []uint8, inv float32) {
	for i := range x {
		q[i] = uint8(n + nearestIn(inv*x[i], -n, n-1))
	}
}

func clear8(q []uint8, n int) {
	for i := range n {
		q[i] = 0
	}
}

// search is the candidates of [searchAffine]: for step = 0, 1, … steps, the elements reach from 0 to
// n + first + each·step.
type search struct {
	first, each float32
	steps       int
	abs         bool // errors are magnitudes, not squares
}

// searchAffine chooses integers q of 0 to n, and returns the scale d and the minimum m for which the
// sum of w·(d·q - m - x)², or of w·|…|, is smallest among the candidates. Neither is negative. Aux
// is memory for as many integers.
func searchAffine(n int32, x, w []float32, q, aux []uint8, s search) (scale, less float32) {
	lo, hi := span(x)
	var sumW, sumX float32
	for i := range x {
		sumW += w[i]
		sumX += float32(w[i] * x[i])
	}
	if lo > 0 {
		lo = 0
	}
	if hi <= lo {
		clear8(q, len(x))
		return 0, -lo
	}
	inv := float32(n) / (hi - lo)
	scale = 1 / inv
	roundAffine(n, x, q, inv, lo)
	best := errorAffine(x, w, q, scale, lo, s.abs)
	for step := range s.steps + 1 {
		inv = (s.first + float32(s.each*float32(step)) + float32(n)) / (hi - lo)
		roundAffine(n, x, aux, inv, lo)
		d, m, ok := fitAffine(x, w, aux, sumW, sumX)
		if !ok {
			continue
		}
		if e := errorAffine(x, w, aux, d, m, s.abs); e < best {
			for i := range x {
				q[i] = aux[i]
			}
			best, scale, lo = e, d, m // and further candidates reach from the new minimum
		}
	}
	return scale, -lo
}

func roundAffine(n int32, x []float32, q []uint8, inv, lo float32) {
	for i := range x {
		q[i] = uint8(nearestIn(inv*(x[i]-lo), 0, n))
	}
}

func errorAffine(x, w []float32, q []uint8, scale, lo float32, magnitude bool) (sum float32) {
	for i := range x {
		d := float32(scale*float32(q[i])) + lo - x[i]
		if magnitude {
			d = abs(d)
		} else {
			d *= d
		}
		sum += float32(w[i] * d)
	}
	return sum
}

// fitAffine returns the scale and the minimum of the least squares, one that is not above 0.
func fitAffine(x, w []float32, q []uint8, sumW, sumX float32) (scale, lo float32, ok bool) {
	var sumL, sumL2, sumXL float32
	for i := range x {
		l := float32(q[i])
		wl := float32(w[i] * l)
		sumL += wl
		sumL2 += float32(wl * l)
		sumXL += float32(wl * x[i])
	}
	det := float32(sumW*sumL2) - float32(sumL*sumL)
	if !(det > 0) {
		return 0, 0, false
	}
	scale = (float32(sumW*sumXL) - float32(sumX*sumL)) / det
	lo = (float32(sumL2*sumX) - float32(sumL*sumXL)) / det
	if lo > 0 {
		return sumXL / sumL2, 0, true
	}
	return scale, lo, true
}

// searchPositive chooses integers q of 0 to n for x, none of which is negative, and returns the scale
// for which the weighted squared error is smallest, after up to five rounds of changing single ones.
func searchPositive(n int32, x []float32, q []uint8, w []float32) float32 {
	var most float32
	for i := range x {
		most = max(most, x[i])
	}
	if most < tiny {
		clear8(q, len(x))
		return 0
	}
	inv := float32(n) / most
	best := errorPositive(n, x, w, inv)
	for step := int32(-4); step <= 4; step++ {
		if step == 0 {
			continue
		}
		other := (float32(0.1*float32(step)) + float32(n)) / most
		if e := errorPositive(n, x, w, other); e < best {
			best, inv = e, other
		}
	}
	var lx, l2 float32
	for i := range x {
		l := min(n, nearest(inv*x[i]))
		q[i] = uint8(l)
		lx += float32(float32(w[i]*x[i]) * float32(l))
		l2 += float32(float32(w[i]*float32(l)) * float32(l))
	}
	for range 5 {
		var changed bool
		if lx, l2, changed = improvePositive(n, x, q, w, lx, l2); !changed {
			break
		}
	}
	if l2 > 0 {
		return lx / l2
	}
	return 0
}

func errorPositive(n int32, x, w []float32, inv float32) (sum float32) {
	scale := 1 / inv
	for i := range x {
		l := min(n, nearest(inv*x[i]))
		d := x[i] - float32(scale*float32(l))
		sum += float32(float32(w[i]*d) * d)
	}
	return sum
}

// improvePositive changes those integers whose change makes the error smaller, one after another.
func improvePositive(n int32, x []float32, q []uint8, w []float32, lx, l2 float32) (float32, float32, bool) {
	changed := false
	for i := range x {
		wx, l := float32(w[i]*x[i]), float32(q[i])
		sx := lx - float32(wx*l)
		s2 := l2 - float32(float32(w[i]*l)*l)
		if !(sx > 0 && s2 > 0) {
			continue
		}
		to := min(n, nearest(float32(x[i]*s2)/sx))
		if to == int32(q[i]) {
			continue
		}
		l = float32(to)
		sx += float32(wx * l)
		s2 += float32(float32(w[i]*l) * l)
		if float32(float32(sx*sx)*l2) > float32(float32(lx*lx)*s2) {
			q[i] = uint8(to)
			lx, l2, changed = sx, s2, true
		}
	}
	return lx, l2, changed
}
