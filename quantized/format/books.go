package format

import (
	"math"
	"sync/atomic"

	"github.com/gokiln/kiln/dsl"
)

// HostQuantizer is a format that is quantized on the host only, as its search goes over a code book:
// IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S. Importance is empty for none.
type HostQuantizer interface {
	Block
	QuantizeHost(out []uint8, x, importance []float32)
}

// codeBook is a code book as quantizers search it: a vector of dim levels is a code that has some
// bits for each, and level l stands for 2·l+1.
type codeBook struct {
	codes  []uint16
	values []float32 // what the levels of the codes stand for, dim of each
	bits   int
	dim    int
	levels int32                      // 0 to levels-1
	rings  int                        // of how many distances the neighbours of a code are
	number []int32                    // of each code, -1 of one that is not in the book
	near   []atomic.Pointer[[]uint16] // neighbours of those, found when they are asked for
}

func newBook(codes []uint16, bits int, levels int32, rings int) *codeBook {
	b := &codeBook{codes: codes, bits: bits, dim: 8, levels: levels, rings: rings}
	if bits == 3 {
		b.dim = 4
	}
	size := 1 << (bits * b.dim)
	b.number, b.near = make([]int32, size), make([]atomic.Pointer[[]uint16], size)
	for i := range b.number {
		b.number[i] = -1
	}
	for i, c := range codes {
		b.number[c] = int32(i)
		for j := range b.dim {
			b.values = append(b.values, float32(2*b.level(c, j)+1))
		}
	}
	return b
}

// level is level i of a code.
func (b *codeBook) level(code uint16, i int) int32 {
	return int32(code>>(i*b.bits)) & (1<<b.bits - 1)
}

// code is that of levels.
func (b *codeBook) code(q []uint8) (c uint16) {
	for i, l := range q {
		c |= uint16(l) << (i * b.bits)
	}
	return c
}

// neighbours are the numbers of the vectors of the book that are nearest to a code: all that are at
// one of the few smallest distances, nearer ones first, then in the order of the book.
func (b *codeBook) neighbours(code uint16) []uint16 {
	if known := b.near[code].Load(); known != nil {
		return *known
	}
	at := map[int32][]uint16{}
	far := int32(0)
	for n, c := range b.codes {
		var d int32
		for i := range b.dim {
			e := 2 * (b.level(c, i) - b.level(code, i))
			d += e * e
		}
		at[d] = append(at[d], uint16(n))
		far = max(far, d)
	}
	var list []uint16
	for d, rings := int32(0), 0; d <= far && rings < b.rings; d++ {
		if len(at[d]) > 0 {
			list = append(list, at[d]...)
			rings++
		}
	}
	b.near[code].Store(&list)
	return list
}

// choose sets q to the vector of the book that x is nearest to at a scale, among the neighbours of
// the nearest levels; it reports whether these were in the book themselves.
func (b *codeBook) choose(x, w []float32, inv, scale float32, q []uint8) bool {
	for i := range x {
		q[i] = uint8(nearestIn(0.5*(float32(inv*x[i])-1), 0, b.levels-1))
	}
	code := b.code(q)
	if b.number[code] >= 0 {
		return true
	}
	least, best := float32(math.MaxFloat32), uint16(0)
	for _, n := range b.neighbours(code) {
		if sum := distance(b.values[int(n)*b.dim:], x, w, scale, least); sum < least {
			least, best = sum, n
		}
	}
	for i := range q {
		q[i] = uint8(b.level(b.codes[best], i))
	}
	return false
}

// distance is the weighted squared error of values at a scale, a multiple of four of them. Once it is
// no less than enough it may be that of some of them: it never falls, as weights are not negative.
func distance(values, x, w []float32, scale, enough float32) (sum float32) {
	for i := 0; i < len(x); i += 4 {
		v, x, w := (*[4]float32)(values[i:]), (*[4]float32)(x[i:]), (*[4]float32)(w[i:])
		for j := range v {
			d := float32(scale*v[j]) - x[j]
			sum += float32(float32(w[j]*d) * d)
		}
		if sum >= enough {
			break
		}
	}
	return sum
}

// bookSearch is how a format chooses vectors of a book for a group of elements that have one scale.
type bookSearch struct {
	book     *codeBook
	steps    int     // candidates are -steps to steps
	each     float32 // that much apart
	least    float32 // groups of smaller magnitudes are zeros
	even     bool    // an even number of signs in each eight elements
	again    bool    // the last round goes over all vectors, not those alone that are not of the book
	positive bool    // candidates are around the scale of searchPositive
}

// group is what was chosen for up to 32 elements.
type group struct {
	scale   float32 // 0 of zeros, for which nothing else is set
	q       [32]uint8
	signs   [4]uint8 // of each eight elements
	numbers [8]int32 // of vectors in the book
}

// run chooses signs, vectors and a scale for x, whose squared errors have weights w.
func (s *bookSearch) run(x, w []float32) (g group) {
	var buf, root [32]float32
	v, n := buf[:len(x)], len(x)
	for i := range w {
		root[i] = dsl.Sqrt(w[i])
	}
	for k := range n / 8 {
		g.signs[k] = s.split(v[8*k:8*k+8], x[8*k:8*k+8], w[8*k:8*k+8])
	}
	most := v[0]
	for i := range v {
		most = max(most, v[i])
	}
	if most < s.least || most == 0 {
		return group{}
	}
	if s.positive {
		most = searchPositive(s.book.levels+1, v, g.q[:], w) * float32(s.book.levels)
		if most <= 0 {
			return group{}
		}
	}
	s.search(&g, v, w, root[:n], most)
	for k := range n / s.book.dim {
		g.numbers[k] = s.book.number[s.book.code(g.q[k*s.book.dim:][:s.book.dim])]
	}
	return g
}

// split stores magnitudes and returns signs. If their number has to be even and is not, the element
// that matters least has the wrong one, and a negative magnitude.
func (s *bookSearch) split(v, x, w []float32) (signs uint8) {
	odd := false
	for i := range x {
		v[i] = x[i]
		if !(x[i] >= 0) {
			v[i] = -x[i]
			signs |= 1 << i
			odd = !odd
		}
	}
	if s.even && odd {
		at, least := 0, float32(math.Inf(1))
		for i := range x {
			if a := float32(float32(w[i]*x[i]) * x[i]); a < least {
				at, least = i, a
			}
		}
		v[at] = -v[at]
		signs ^= 1 << at
	}
	return signs
}

// search chooses the scale, and the vectors for it.
func (s *bookSearch) search(g *group, v, w, root []float32, most float32) {
	b, dim := s.book, s.book.dim
	top := float32(2*b.levels - 1)
	if !s.positive {
		g.scale = most / top
	} else {
		g.scale = most / float32(b.levels)
	}
	var aux [32]uint8
	var in, inAux [8]bool
	for k := range in {
		in[k] = true
	}
	var best float32
	for step := -s.steps; step <= s.steps; step++ {
		inv := (top + float32(float32(step)*s.each)) / most
		for k := range len(v) / dim {
			i, j := k*dim, (k+1)*dim
			inAux[k] = b.choose(v[i:j], root[i:j], inv, 1/inv, aux[i:j])
		}
		qx, q2 := fitBook(v, w, aux[:])
		if q2 > 0 && qx*qx > best*q2 {
			g.scale = qx / q2
			best = g.scale * qx
			g.q, in = aux, inAux
		}
	}
	s.refine(g, v, w, root, in)
}

// refine chooses vectors once more for the scale that was found, and the scale for them. A scale
// below 0 turns all signs.
func (s *bookSearch) refine(g *group, v, w, root []float32, in [8]bool) {
	b, dim := s.book, s.book.dim
	n := len(v) / dim
	all := true
	for k := range n {
		all = all && in[k]
	}
	if (!all || s.positive) && g.scale > 0 {
		inv := 1 / g.scale
		for k := range n {
			if i, j := k*dim, (k+1)*dim; s.again || !in[k] {
				b.choose(v[i:j], root[i:j], inv, g.scale, g.q[i:j])
			}
		}
		if qx, q2 := fitBook(v, w, g.q[:]); q2 > 0 {
			g.scale = qx / q2
		}
	}
	if g.scale < 0 {
		g.scale = -g.scale
		for k := range g.signs {
			g.signs[k] = ^g.signs[k]
		}
	}
}

// fitBook returns the sums of w·x·value and w·value².
func fitBook(x, w []float32, q []uint8) (qx, q2 float32) {
	for i := range x {
		v := float32(2*int32(q[i]) + 1)
		qx += float32(float32(w[i]*x[i]) * v)
		q2 += float32(float32(w[i]*v) * v)
	}
	return qx, q2
}

// groups runs the search over 256 elements in groups of n, and returns 4-bit levels of their scales,
// which stand for 2·level+1, and the unit of them; 0 if all elements are zeros.
func (s *bookSearch) groups(x, w []float32, n int) (list []group, levels []uint32, d float32) {
	var most float32
	for i := 0; i < 256; i += n {
		g := s.run(x[i:i+n], w[i:i+n])
		list = append(list, g)
		most = max(most, g.scale)
	}
	levels = make([]uint32, len(list))
	if most == 0 {
		return list, levels, 0
	}
	d = most / 31
	inv := 1 / d
	for i := range list {
		levels[i] = uint32(nearestIn(0.5*(float32(inv*list[i].scale)-1), 0, 15))
	}
	return list, levels, d
}

// bookWeights returns the weights of 256 elements: importance·√(share·mean square + x²), or without
// importance x² and a share of the mean square.
func bookWeights(x, importance []float32, share, plain float32) []float32 {
	w := make([]float32, 256)
	square := float32(share*squares(x)) / 256
	if len(importance) > 0 {
		importantWeights(w, x, importance, square)
		return w
	}
	for i := range w {
		w[i] = float32(x[i] * x[i])
		if plain != 0 {
			w[i] = float32(plain*square) + w[i]
		}
	}
	return w
}

// evenWord packs 4 times 7 signs, and a level above them.
func evenWord(signs [4]uint8, level uint32) uint32 {
	word := level << 28
	for k, s := range signs {
		word |= uint32(s&127) << (7 * k)
	}
	return word
}
