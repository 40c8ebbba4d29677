package cases

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// SwiGLU is the usual first example.
//
//kiln:kernel
func SwiGLU[T dsl.Float](t dsl.Thread, out, gate, up []T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		g := dsl.F32(gate[i])
		out[i] = dsl.To[T](g / (1 + dsl.Exp(-g)) * dsl.F32(up[i]))
	}
}

// Control has every form of control flow.
//
//kiln:kernel
func Control(t dsl.Thread, out, in []int) {
	for i := range in {
		in[i] += i
	}
	var small [4]int
	for i, v := range small {
		small[i] = v + 2*i
	}
	n := 0
outer:
	for i := range 10 {
		switch {
		case i == 2:
			continue outer
		case i > 7:
			break outer
		case i == 3:
			n += 100
			fallthrough
		case i == 100:
			n++
		default:
			n += small[i&3]
		}
		for j := 0; ; j++ {
			if j > i {
				break
			}
			if j == 1 {
				continue outer
			}
			n += j
		}
	}
	switch x := in[0]; x {
	case 0, 1:
		out[1] = 1
	case 5:
		out[1] = 5
	default:
		out[1] = -x
	}
	for n%7 != 0 && n < 1000 || n == 0 {
		n++
	}
	out[0] = n
	if t.Global() != 0 {
		return
	}
	out[2] = early(in[1]) + early(-in[1])
}

func early(x int) int {
	if x < 0 {
		return -1
	}
	for i := range x {
		if i*i > x {
			return i
		}
	}
	return x
}

type acc struct {
	sum  float32
	n    int
	last struct{ lo, hi float32 }
}

func (a acc) mean() float32 {
	if a.n == 0 {
		return 0
	}
	return a.sum / float32(a.n)
}

func (a *acc) add(x float32) {
	a.sum += x
	a.n++
	a.last.lo = min(a.last.lo, x)
	a.last.hi = max(a.last.hi, x)
}

type wrapped struct {
	acc
	scale float32
}

func (w *wrapped) addAll(xs []float32) {
	each(xs, func(x float32) { w.add(x * w.scale) })
}

func each(xs []float32, f func(float32)) {
	for _, x := range xs {
		f(x)
	}
}

// Structs has values, methods, embedding, comparison and copies.
//
//kiln:kernel
func Structs(t dsl.Thread, out, in []float32) {
	w := wrapped{scale: 2}
	w.addAll(in)
	out[0] = w.mean()
	out[1] = w.last.hi - w.last.lo
	v := w
	v.add(100)
	p := &v.acc
	p.add(1)
	out[2] = v.sum - w.sum
	out[3] = float32(p.n)
	if v == w {
		out[4] = 1
	}
	v = w
	if v == w {
		out[5] = 1
	}
	var zero acc
	out[6] = zero.mean() + swap(acc{sum: 3, n: 1}, zero).sum
	q := &v
	if in[0] > 0 {
		q = &w
	}
	q.sum = 77
	out[7] = w.sum + v.sum
	rows := [3]acc{{sum: 1}, {n: 2}}
	for i := range rows {
		rows[i].add(in[i])
	}
	out[8] = rows[2].sum + rows[0].last.hi + float32(rows[int(in[1])&1].n)
}

//lint:ignore SA4009 parameters that are assigned to are what is tested
func swap(a, b acc) acc {
	//lint:ignore SA4006 see above
	a, b = b, a
	return b
}

// Arrays has local arrays by constant and variable index, as values, nested.
//
//kiln:kernel
func Arrays(t dsl.Thread, out, in []float32) {
	var a [8]float32
	for i := range a {
		a[i] = in[i] * 2
	}
	b := a
	b[3] = 0
	out[0] = total(a) - total(b)
	out[1] = a[int(in[2])&7]
	c := [2][3]float32{{1, 2, 3}, {4, 5, 6}}
	for i := range 2 {
		for j := range 3 {
			out[2] += c[i][j] * c[1-i][2-j]
		}
	}
	out[3] = pair(in[0])[int(in[1])&1]
	fill(&a, 3)
	out[4] = total(a)
	d := &c[1]
	d[2] = 60
	out[5] = c[1][2]
	lit := [...]float32{5: 1, 0: 2}
	out[6] = lit[int(in[1])&7%6] + float32(len(lit))
	for i := range 3 {
		var fresh [2]float32
		fresh[i&1] += 1
		out[7] += fresh[0]
	}
	if pair(1) == [2]float32{1, -1} {
		out[8] = 1
	}
}

func total(a [8]float32) float32 {
	s := float32(0)
	for _, v := range a {
		s += v
	}
	return s
}

func pair(x float32) [2]float32 { return [2]float32{x, -x} }

func fill(a *[8]float32, x float32) {
	for i := range a {
		a[i] = x
	}
}

type view struct {
	data []float32
	step int
}

func (v view) at(i int) float32 { return v.data[i*v.step] }

func (v *view) skip(n int) { v.data = v.data[n:] }

func sum(xs ...float32) float32 {
	s := float32(0)
	for _, x := range xs {
		s += x
	}
	return s
}

func halves(x []float32) (lo, hi []float32) {
	m := len(x) / 2
	return x[:m], x[m:]
}

// Slices has re-slicing, slices of local memory, slices in structs, variadic
// calls, slices that change in a loop.
//
//kiln:kernel
func Slices(t dsl.Thread, out, in []float32) {
	lo, hi := halves(in)
	out[0] = sum(lo...) - sum(hi...)
	out[1] = float32(len(in[1:3:4]) + len(hi[len(hi):]))
	v := view{in, 2}
	out[2] = v.at(1)
	v.skip(1)
	out[3] = v.at(1)
	out[4] = sum(in[0], in[1], in[2]) + sum()
	var a [6]float32
	s := a[2:5]
	for i := range s {
		s[i] = in[i]
	}
	out[5] = a[3] + float32(len(s))
	rest := in
	for len(rest) > 2 {
		out[6] += rest[0]
		rest = rest[1 : len(rest)-1]
	}
	two := [2][]float32{in[:1], in[1:]}
	out[7] = two[0][0] + two[1][0] + float32(len(two[1]))
	tile := dsl.Shared[[8]float32](t)
	part := tile[4:]
	part[1] = in[3]
	out[8] = tile[5]
	p := &in[2]
	if in[0] > 1 {
		p = &in[3]
	}
	*p += 1
	out[9] = *p
}
