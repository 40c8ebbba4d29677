//lint:file-ignore SA5002,S1023,SA4028,ST1015 odd code is what is tested

package language

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// Unary is a function as a type.
type Unary[C dsl.Real] interface{ Apply(x C) C }

// Gelu is a functor without fields.
type Gelu[C dsl.Compute] struct{}

// Apply is the function.
func (Gelu[C]) Apply(x C) C { return x * (1 + dsl.Erf(x*C(0.70710678118654752440))) / 2 }

// Affine is a functor with fields.
type Affine[C dsl.Compute] struct{ A, B C }

// Apply is the function.
func (f Affine[C]) Apply(x C) C { return f.A*x + f.B }

// Then is a functor made of two.
type Then[C dsl.Real, F, G Unary[C]] struct {
	First  F
	Second G
}

// Apply is the function.
func (f Then[C, F, G]) Apply(x C) C { return f.Second.Apply(f.First.Apply(x)) }

// Map takes a functor as type argument and value.
//
//kiln:kernel
func Map[C dsl.Real, F Unary[C]](t dsl.Thread, out, in []C, f F) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		out[i] = f.Apply(in[i])
	}
}

func each[C dsl.Real, F Unary[C]](xs []C, i int) C {
	var f F
	return f.Apply(xs[i])
}

// MapTo is the example of dsl.Compute: memory of one type, arithmetic in another.
//
//kiln:kernel
func MapTo[T dsl.Float, F Unary[float32]](t dsl.Thread, out, in []T, f F) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		out[i] = dsl.To[T](f.Apply(dsl.F32(in[i])))
	}
}

// Fixed hands the type of a functor on.
//
//kiln:kernel
func Fixed(t dsl.Thread, out, in []float32) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		out[i] = each[float32, Gelu[float32]](in, i)
	}
}

type num interface{ ~int32 | ~float32 }
type meters float32
type steps int32

func (m meters) double() meters { return m * 2 }

func sumOf[S ~[]E, E num](s S) (r E) {
	for _, x := range s {
		r += x
	}
	return
}

type stack[T any] struct {
	data [8]T
	n    int
}

func (s *stack[T]) push(x T) { s.data[s.n&7] = x; s.n++ }
func (s *stack[T]) pop() (x T, ok bool) {
	if s.n == 0 {
		return
	}
	s.n--
	return s.data[s.n&7], true
}
func (s stack[T]) len() int { return s.n }

type pairOf[A, B any] struct {
	a A
	b B
}

func mkPair[A, B any](a A, b B) pairOf[A, B] { return pairOf[A, B]{a, b} }

type list []float32

func (l list) sum() float32 { return sumOf(l) }

// Generic has named types, core types and generic containers.
//
//kiln:kernel
func Generic(t dsl.Thread, out []float32, in []float32) {
	i := t.Global()
	ms := [4]meters{1, 2, meters(in[i]), 4}
	ss := [2]steps{3, steps(i)}
	var st stack[pairOf[int32, float32]]
	for k := range 5 {
		st.push(mkPair(int32(k), in[(i+k)%len(in)]))
	}
	top, _ := st.pop()
	top2, ok := st.pop()
	r := float32(sumOf(ms[:])) + float32(sumOf(ss[:])) + top.b*float32(top2.a) + float32(ms[2].double())
	if ok {
		r += float32(st.len())
	}
	r += list(in[:2]).sum()
	out[i] = r
}

// Lits has function literals.
//
//kiln:kernel
func Lits(t dsl.Thread, out []int, in []int) {
	i := t.Global()
	total := 0
	add := func(x int) int { total += x; return total }
	for k := range 4 {
		add(k * in[i])
		func() {
			if k == 2 {
				total++
				return
			}
			total += 2
		}()
	}
	rec := func(f func(int) int, n int) int { return f(n) + f(n+1) }
	sq := func(x int) int { return x * x }
	r := rec(sq, in[i]) + rec(func(x int) int { return x + total + i }, 2)
	var arr [3]int
	for j := range arr {
		set := func(v int) { arr[j] = v }
		set(j * r)
	}
	p := &total
	inc := func() { *p++ }
	inc()
	cc := 10
	counter := func() func() int {
		return func() int { cc++; return cc }
	}()
	r += counter() + counter()
	min2 := func(a, b int) (int, bool) {
		if a < b {
			return a, true
		}
		return b, false
	}
	lo, was := min2(arr[1], arr[2])
	if was {
		lo++
	}
	out[i] = r + arr[0] + arr[1] + arr[2] + total + lo
}

// Ptrs has pointers to variables, fields, elements and shared memory.
//
//kiln:kernel
func Ptrs(t dsl.Thread, out []int32, in []int32) {
	i := t.Global()
	x, y := in[i], int32(3)
	p, q := &x, &y
	if x > 0 {
		p, q = q, p
	}
	*p += 10
	*q *= 2
	swap(p, q)
	s := struct {
		a [4]int32
		b struct{ c, d int32 }
	}{a: [4]int32{1, 2, 3, 4}}
	pa := &s.a
	pe := &s.a[i&3]
	pb := &s.b
	pd := &pb.d
	*pe += 5
	pa[1]++
	*pd = x
	pb.c = y
	for k := range pa {
		pa[k] += int32(k)
	}
	for k, v := range pa {
		pb.c += v * int32(k)
	}
	sh := dsl.Shared[struct {
		n   int32
		arr [64]int32
	}](t)
	ps := &sh.arr[t.ThreadX()]
	*ps = x
	if t.ThreadX() == 0 {
		sh.n = 100
	}
	t.Sync()
	pn := &sh.n
	bump(&s.b.d, *pn)
	pp := &pe
	**pp += 1
	out[i] = s.a[0] + s.a[1]*3 + s.a[2]*5 + s.a[3]*7 + s.b.c + s.b.d + *ps + x*y
}

func swap(a, b *int32)        { *a, *b = *b, *a }
func bump(p *int32, by int32) { *p += by }

// Reslices has slices of slices and of arrays, with two and three indices.
//
//kiln:kernel
func Reslices(t dsl.Thread, out []int32, in []int32) {
	i := t.Global()
	a := in[i:]
	b := a[1:3]
	c := a[1:3:4]
	d := in[:len(in):len(in)]
	e := b[:1]
	var arr [10]int32
	f := arr[2:8:9]
	for k := range f {
		f[k] = in[k] + int32(i)
	}
	g := f[1:4]
	g[0] = 77
	h := (&arr)[:]
	sh := dsl.Shared[[64]int32](t)
	w := sh[t.Warp()*t.WarpSize():][:t.WarpSize()]
	w[t.Lane()] = int32(i)
	t.Sync()
	n := int32(len(a) + 10*len(b) + 100*len(c) + 1000*len(d) + 10000*len(e) + len(h))
	for len(g) > 0 {
		n += g[0]
		g = g[1:]
	}
	out[i] = n + b[0] + c[1] + arr[3] + w[t.WarpSize()-1-t.Lane()] + h[4]
}

const (
	kA = 1 << iota
	kB
	_
	kD
	mask       = kA | kD
	name       = "abc"
	half       = 1.0 / 2
	big        = 1 << 40
	huge uint8 = 255
	r          = 'x'
)

// Consts has constant expressions.
//
//kiln:kernel
func Consts(t dsl.Thread, out []int64) {
	const local = len(name) + mask
	var arr [local]int64
	arr[0] = big >> 3
	arr[1] = int64(huge) + r
	arr[2] = int64(half * 10)
	if local > 4 && name == "abc" {
		arr[3] = int64(len(name))
	}
	arr[4] = len64(len(arr))
	x := uint8(t.ThreadX())
	arr[5] = int64(x*huge) + int64(^x) + int64(-x) + int64(x<<7>>3) + int64(int8(x))
	arr[6] = math.MaxInt32 + int64(math.MinInt8)
	var u32 uint32 = math.MaxUint32
	arr[7] = int64(u32 + uint32(x))
	arr[8] = int64(bits.UintSize) + int64(cap(arr))
	var s int64
	for _, v := range arr {
		s = s*31 + v
	}
	out[t.Global()] = s
}

func len64(n int) int64 { return int64(n) }

// Ops has division and remainder by constants, float conversions, shifts of all
// kinds.
//
//kiln:kernel
func Ops(t dsl.Thread, out []int64, in []int64, f []float64) {
	i := t.Global()
	x := in[i]
	n := x/7 + x%7 + x/8 + x%8 + x/-3 + x%-3 + x/1 + x%1 + x/-1
	u := uint64(x)
	n += int64(u/7 + u%10 + u/16 + u%16)
	x32, u32 := int32(x), uint32(x)
	n += int64(x32/7+x32%7+x32/-8+x32%-8) + int64(u32/7+u32%1000000007)
	x8, u8 := int8(x), uint8(x)
	n += int64(x8/3+x8%5) + int64(u8/3+u8%5)
	s := uint(x) & 127
	n += x<<s + x>>s + int64(u>>s) + int64(x32<<s) + int64(u32>>s) + int64(x8>>s) + int64(u8<<s) + 1<<s
	si := int(s)
	n += x >> si << (si / 2)
	g := f[i]
	n += int64(int32(g)) + int64(float32(g)*2) + int64(math.Trunc(g))
	m := dsl.Mod(g, 3.5) + math.Copysign(1.5, -g)
	n ^= int64(math.Float64bits(m)) ^ int64(math.Float32bits(float32(m)))
	g = -g
	g++
	g /= 3
	if !(g > 0) || g != g {
		n++
	}
	n = -n
	n = ^n
	n = +n
	out[i] = n + int64(math.Float64bits(g))
}

// Metres is a type of floats with a method.
type Metres float32

// Twice is twice as far.
func (m Metres) Twice() Metres { return 2 * m }

// Count is a type of integers.
type Count int32

// length is what has the operators of a float and methods of its own.
type length interface {
	~float32
	Twice() Metres
}

func furthest[L length](x, y L) L { return L(max(x, y).Twice()) }

// Measures uses types that are derived from those of the constraints.
//
//kiln:kernel
func Measures[L dsl.Real, N dsl.WordInt](t dsl.Thread, out []L, counts []N, x []L, m []Metres) {
	i := t.Global()
	v := dsl.Exp(x[i]) + dsl.To[L](dsl.F32(x[i])*3)
	n := dsl.Convert[N](x[i]) + N(i)
	out[i] = dsl.WarpSum(t, v) + dsl.Sqrt(dsl.Shuffle(t, v, 3)) + dsl.Convert[L](n)
	dsl.AtomicMax(&counts[0], dsl.BlockMax(t, n))
	dsl.AtomicAdd(&counts[1], dsl.Convert[N](dsl.Convert[dsl.F16](n)))
	m[i] = furthest(m[i], Metres(out[i]))
}
