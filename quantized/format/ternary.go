package format

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

var bookIQ1 = sync.OnceValue(func() *codeBook {
	codes := gridIQ1_S // kernels read tables that nobody slices
	return newBook(codes[:], 2, 3, 3)
})

// shiftedValues are what the levels 0 to 2 stand for, with δ added, and with δ taken away.
var shiftedValues = [2][3]float32{{-0.875, 0.125, 1.125}, {-1.125, -0.125, 0.875}}

// split3 is how the elements of a group, in ascending order, are divided into three levels: those
// below the first boundary, those below the second one, and the others.
type split3 struct {
	scale         float32
	first, second int
	shift         int // which of the shifts of δ
}

// ternaryGroup is what was chosen for a group: vectors of the book for each eight elements.
type ternaryGroup struct {
	scale   float32 // 0 of zeros, for which nothing else is set
	shift   int
	numbers [4]int32
}

// order returns the indices of elements in ascending order.
func order(x []float32) []int {
	list := make([]int, len(x))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	return list
}

// levels are those of a division. A scale below 0 turns all levels and the sign of each δ; shifts
// are how many there are, of which the last one is the opposite of the first.
func (s *split3) levels(order []int, shifts int) (q [32]uint8) {
	for j, i := range order {
		if j >= s.first {
			q[i]++
		}
		if j >= s.second {
			q[i]++
		}
	}
	if s.scale < 0 {
		for i := range order {
			q[i] = 2 - q[i]
		}
		s.scale, s.shift = -s.scale, shifts-1-s.shift
	}
	return q
}

// take replaces a division by a better one: one of a larger qx²/q2.
func (s *split3) take(qx, q2 float32, best *float32, first, second, shift int) {
	if q2 > 0 && qx*qx > *best*q2 {
		*s = split3{qx / q2, first, second, shift}
		*best = s.scale * qx
	}
}

// vectors chooses vectors of the book for levels, where values are what the levels of each eight
// elements stand for, and the scale for them if there is any that is not in the book.
func (g *ternaryGroup) vectors(x, w []float32, q []uint8, values func(k int) *[3]float32) {
	b := bookIQ1()
	all := true
	for k := range len(x) / 8 {
		i, j := 8*k, 8*k+8
		code := b.code(q[i:j])
		if g.numbers[k] = b.number[code]; g.numbers[k] < 0 {
			all = false
			g.numbers[k] = b.closest(b.neighbours(code), x[i:j], w[i:j], g.scale, values(k))
		}
	}
	if all {
		return
	}
	var qx, q2 float32
	for k := range len(x) / 8 {
		sumVector(&qx, &q2, b.codes[g.numbers[k]], x[8*k:], w[8*k:], values(k), 1)
	}
	if qx > 0 && q2 > 0 {
		g.scale = qx / q2
	}
}

// closest is the number of the vector, out of some, for which the weighted squared error is
// smallest.
func (b *codeBook) closest(of []uint16, x, w []float32, scale float32, values *[3]float32) int32 {
	least, best := float32(math.MaxFloat32), of[0]
	for _, n := range of {
		var sum float32
		for i := range x {
			d := float32(scale*values[b.level(b.codes[n], i)]) - x[i]
			sum += float32(float32(w[i]*d) * d)
		}
		if sum < least {
			least, best = sum, n
		}
	}
	return int32(best)
}

// sumVector adds w·q·x and w·q² of eight elements, where q is a value times a factor.
func sumVector(qx, q2 *float32, code uint16, x, w []float32, values *[3]float32, factor float32) {
	for i := range 8 {
		q := float32(values[code>>(2*i)&3] * factor)
		wq := float32(w[i] * q)
		*qx += float32(wq * x[i])
		*q2 += float32(wq * q)
	}
}
