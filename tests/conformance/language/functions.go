//lint:file-ignore SA5002,S1023,SA4028,ST1015 odd code is what is tested

package language

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

type shape interface{ Area() float32 }
type square struct{ s float32 }
type circle struct{ r float32 }

func (s square) Area() float32  { return s.s * s.s }
func (c *circle) Area() float32 { c.r += 1; return c.r * 3 }

type pointerTo[T any] interface {
	*T
	Area() float32
}

func viaPtr[T any, P pointerTo[T]](x *T) float32 { return P(x).Area() + P(x).Area() }
func via[S shape](s S) float32                   { return s.Area() }

type matrix[T dsl.Real] struct {
	rows, cols int
	data       []T
}

func (m matrix[T]) At(i, j int) T      { return m.data[i*m.cols+j] }
func (m *matrix[T]) Set(i, j int, x T) { m.data[i*m.cols+j] = x }
func (m matrix[T]) Row(i int) []T      { return m.data[i*m.cols : (i+1)*m.cols] }
func (m matrix[T]) Sub(i, n int) matrix[T] {
	return matrix[T]{n, m.cols, m.data[i*m.cols : (i+n)*m.cols]}
}

// Meth has methods of type parameters, pointers as constraints, structs with slices.
//
//kiln:kernel
func Meth(t dsl.Thread, out, in []float32) {
	i := t.Global()
	m := matrix[float32]{4, 4, in}
	s := m.Sub(1, 2)
	r := s.Row(1)
	c := circle{in[i]}
	x := via(square{2}) + viaPtr(&c) + c.r + s.At(1, 2) + r[3]
	o := matrix[float32]{1, len(out), out}
	o.Set(0, i, x)
	o.data[i] += vec3.V3[float32]{X: 1}.Add(vec3.V3[float32]{Y: x}).Y
}

type binary func(a, b int) int

func (o binary) twice(a int) int { return o(o(a, a), a) }

func fold(xs []int, z int, op func(int, int) int) int {
	for _, x := range xs {
		z = op(z, x)
	}
	return z
}

func choose(k int) func(int, int) int {
	return func(a, b int) int { return a*k + b }
}

// Funcs has function values in variables, parameters, results and methods.
//
//kiln:kernel
func Funcs(t dsl.Thread, out, in []int) {
	i := t.Global()
	add := func(a, b int) int { return a + b }
	var op binary = add
	n := op.twice(in[i])
	n += fold(in[:4], 1, choose(3))
	n += fold(in[:4], 1, func(a, b int) int {
		if b < 0 {
			return a
		}
		return max(a, b)
	})
	var acc [3]int
	visit := func(k int, f func(*int)) { f(&acc[k]) }
	for k := range 3 {
		visit(k, func(p *int) { *p += k * n })
	}
	done := false
	stop := func() bool { done = acc[1] > 5; return done }
	for k := 0; !stop() && k < 4; k++ {
		acc[1] += 2
	}
	type pt struct{ x, y int }
	mk := func(x int) (p pt) {
		p.x = x
		p.y = -x
		return
	}
	p := mk(n)
	q := func(p *pt) *pt { p.x++; return p }(&p)
	q.y += 10
	out[i] = n + acc[0] + acc[1]*3 + acc[2]*5 + p.x*7 + p.y
	if done {
		out[i]++
	}
}

// Order has operands whose order of evaluation matters.
//
//kiln:kernel
func Order(t dsl.Thread, out, in []int) {
	i := t.Global()
	n := 0
	next := func() int { n++; return n }
	a := [4]int{next(), next() * 10, next() * 100, n}
	a[next()&3], a[next()&3] = next(), next()
	x := next() - next()*next()
	if next() > 100 && next() > 0 || next() > 3 {
		x += n
	}
	y, z := func() (int, int) { return next(), next() }()
	idx := 0
	idx, a[idx] = 2, 50
	a[idx] += next()
	b := a
	k := 0
	for k, b[k] = range a {
		a[3] = k
	}
	s := a[:]
	s, s[0] = s[1:], 99
	out[i] = x*3 + y*5 + z*7 + a[0]*11 + a[1]*13 + a[2]*17 + a[3]*19 + b[0] + b[1]*3 + b[3]*5 + s[0] + n + in[i]
}

type small uint8

// Flags is a set of bits.
type Flags uint16

const (
	f1 Flags = 1 << iota
	f2
	f3
	fAll = f1 | f2 | f3
)

func (f Flags) has(g Flags) bool { return f&g == g }

// Temp is a named float.
type Temp float64

// Named has named basic types, typed constants, conversions.
//
//kiln:kernel
func Named(t dsl.Thread, out []float64, in []int32, fl []Flags, tm []Temp) {
	i := t.Global()
	e := small(in[i])
	e += 200
	f := fl[i] | f2
	f &^= f1
	fl[i] = f
	x := Temp(in[i]) * 1.5
	tm[i] += x
	var r rune = 'a' + rune(e)
	var b byte = byte(r)
	var up uintptr = uintptr(e)
	if f.has(f2|f3) && !f.has(fAll) {
		x++
	}
	u := uint32(in[i])
	y := float32(u) + float32(int64(u)<<20) + float32(uint64(1)<<63|uint64(u))
	z := float64(uint64(math.MaxUint64) - uint64(u))
	out[i] = float64(x) + float64(b) + float64(up) + float64(y) + z + float64(int16(in[i]*7)) + float64(uint8(int8(in[i])))
}

// Arr2 has arrays of arrays, in registers and in memory.
//
//kiln:kernel
func Arr2(t dsl.Thread, out, in []int32) {
	i := t.Global()
	var m [3][4][2]int32
	for a := range m {
		for b := range m[a] {
			m[a][b] = [2]int32{int32(a), in[(a*4+b+i)%len(in)]}
		}
	}
	n := m
	n[1], n[2] = n[2], n[1]
	p := &n[i%3]
	p[i%4][1]++
	row := *p
	row[0] = row[3]
	eq := int32(0)
	if n[1] == m[2] {
		eq = 1
	}
	if n != m {
		eq += 2
	}
	var big [300]int32
	for k := range big {
		big[k] = int32(k) * in[k%len(in)]
	}
	pb := &big
	s := int32(0)
	for k := range pb {
		s += pb[k]
	}
	sub := big[i : i+10]
	sub[0] = 5
	for _, v := range sub {
		s ^= v
	}
	z := [2][2]int32{0: {1: 3}}
	z[i&1] = [2]int32{s, eq}
	out[i] = row[0][1] + n[i%3][2][1] + s + eq + z[0][0] + z[0][1]*3 + z[1][1]
}

// Bits2 has bit functions and the ends of the integers.
//
//kiln:kernel
func Bits2(t dsl.Thread, out []uint64, in []uint64) {
	i := t.Global()
	x := in[i]
	hi, lo := bits.Mul64(x, x^12345)
	q := x / (lo | 1)
	r := x % (hi | 1)
	c := bits.LeadingZeros8(uint8(x)) + bits.TrailingZeros16(uint16(x)) + bits.Len32(uint32(x)) + bits.OnesCount(uint(x))
	m := int64(math.MinInt64)
	d := int64(x)
	if d == 0 {
		d = -1
	}
	m2 := m / d
	m3 := m % d
	s := int8(-128)
	s = -s
	s /= -1
	sh := x >> (x & 255) << 3
	sg := int32(x) >> (x & 63)
	var w uint8 = uint8(x)
	w = w<<4 | w>>4
	w += 250
	out[i] = hi ^ lo ^ q ^ r ^ uint64(c) ^ uint64(m2) ^ uint64(m3) ^ uint64(s) ^ sh ^ uint64(sg) ^ uint64(w)<<17 ^ bits.RotateLeft64(x, int(x&127)-64)
}

// Shadow has shadowed names, dead code and blank parameters.
//
//kiln:kernel
func Shadow(t dsl.Thread, out, in []int, _ int32, _, len2 int) {
	i := t.Global()
	x := in[i]
	if x := x + 1; x > 2 {
		x := x * 2
		out[i] = x
	} else if y := x; y < -3 {
		out[i] = y
	} else {
		x, y := y, x
		out[i] = x - y + 1
	}
	switch x := x + 5; x {
	case 1:
		x := 3
		out[i] += x
	default:
		out[i] += x
	}
	for i := 0; i < 3; i++ {
		i := i * 2
		x += i
	}
	type int2 struct{ a, b int }
	v := int2{1, x}
	{
		type int2 int
		v := int2(v.b)
		x += int(v)
	}
	len := func(s []int) int { return len2 }
	out[i] += x + v.b + len(in)
	if false {
		for {
		}
	}
	const debug = false
	if debug {
		out[i] = 0
	}

	return
}

// Early has returns and continue out of loops and switches.
//
//kiln:kernel
func Early(t dsl.Thread, out, in []int32) {
	for i := t.Global(); ; i += t.GlobalSize() {
		if i >= len(in) {
			return
		}
		x := in[i]
		switch {
		case x < -10:
			continue
		case x < 0:
			out[i] = find(in, x, func(a, b int32) bool { return a == -b })
		case x == 0:
			out[i] = -1
		default:
			k, ok := pos(in[i:], -x)
			if !ok {
				break
			}
			out[i] = int32(k)
		}
		out[i] += x
	}
}

func find(xs []int32, x int32, eq func(a, b int32) bool) int32 {
	for i, y := range xs {
		if eq(x, y) {
			return int32(i)
		}
	}
	return -7
}

func pos(xs []int32, x int32) (at int, ok bool) {
	for at = range xs {
		if xs[at] == x {
			ok = true
			return
		}
	}
	at = -1
	return
}

// F8s has all storage types.
//
//kiln:kernel
func F8s(t dsl.Thread, a []dsl.F8E4M3, b []dsl.F8E5M2, h []dsl.F16, bf []dsl.BF16, out []float32) {
	i := t.Global()
	x := dsl.F32(a[i]) * dsl.F32(b[i])
	a[i] = dsl.To[dsl.F8E4M3](x)
	b[i] = dsl.To[dsl.F8E5M2](x)
	h[i] = dsl.To[dsl.F16](dsl.F32(h[i]) * 3)
	v := dsl.LoadVec[[8]dsl.BF16](bf, i/8)
	bf2 := [4]dsl.BF16{v[i%8], 2: v[0]}
	out[i] = x + dsl.F32(h[i]) + dsl.F32(bf2[i%4])
	s := struct {
		h dsl.F16
		f dsl.F8E4M3
	}{h[i], a[i]}
	sh := dsl.Shared[[64]struct {
		h dsl.F16
		f dsl.F8E4M3
	}](t)
	sh[t.ThreadX()] = s
	t.Sync()
	o := sh[63-t.ThreadX()]
	out[i] += dsl.F32(o.h) + dsl.F32(o.f)
}

// Atoms has atomics on struct fields, elements of shared structs.
//
//kiln:kernel
func Atoms(t dsl.Thread, c []int32, ps []uint64) {
	type st struct {
		n   int64
		f   float32
		arr [4]uint32
	}
	s := dsl.Shared[st](t)
	i := t.ThreadX()
	if i == 0 {
		*s = st{}
	}
	t.Sync()
	dsl.AtomicAdd(&s.n, int64(i))
	dsl.AtomicAdd(&s.f, 1)
	dsl.AtomicMax(&s.arr[i&3], uint32(i))
	t.Sync()
	if i == 0 {
		dsl.AtomicAdd(&c[0], int32(s.n)+int32(s.f))
		for k, v := range s.arr {
			dsl.AtomicOr(&ps[k], uint64(v))
		}
	}
	old := dsl.AtomicCAS(&c[1], 0, 5)
	if old == 0 {
		dsl.AtomicXor(&c[2], 1)
	}
}
