package language

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

// counter has methods of both kinds of receivers, and arrays and slices in it.
type counter struct {
	step  int32
	seen  [3]int32
	total int32
	rest  []int32
}

func (c counter) next(x int32) int32 { return x*c.step + c.seen[x&1] }

func (c *counter) count(x int32) int32 {
	c.seen[uint32(x)%3]++
	c.total += x
	return c.total
}

func (c counter) last() int32 { return c.rest[len(c.rest)-1] }

// wrapped promotes the methods of counter.
type wrapped struct {
	name int32
	counter
}

// grid is generic.
type grid[T any] struct {
	cells []T
	cols  int
}

func (g grid[T]) At(i, j int) T      { return g.cells[i*g.cols+j] }
func (g *grid[T]) Set(i, j int, x T) { g.cells[i*g.cols+j] = x }

func apply(f func(int32) int32, x int32) int32 { return f(f(x)) }

func compose[T any](f, g func(T) T) func(T) T { return func(x T) T { return g(f(x)) } }

// MethodValues uses methods without their calls.
//
//kiln:kernel
func MethodValues(t dsl.Thread, out, in []int32) {
	global := t.Global
	i := global()
	if i >= len(out) {
		return
	}
	c := counter{step: 3, rest: in[:i+1]}
	next := c.next // copies c
	c.step, c.seen = 5, [3]int32{7, 8, 9}
	sum := next(in[i])
	sum = sum*31 + c.next(in[i])

	count := c.count // points to c
	for k := range int32(4) {
		sum = sum*31 + count(in[i]+k)
	}
	c.total++
	sum = sum*31 + apply(count, 2) + apply(c.next, 3) + apply(next, 4)
	for _, s := range c.seen {
		sum = sum*31 + s
	}

	w := wrapped{i32(i), c}
	inc, last := w.count, w.last
	sum = sum*31 + inc(w.name) + w.total + last()

	expr, ptr, promoted := counter.next, (*counter).count, wrapped.next
	sum = sum*31 + expr(c, 6) + ptr(&w.counter, 1) + promoted(w, 2)
	both := compose(w.counter.next, (&c).count)
	sum = sum*31 + both(3)

	add := vec3.V3[float32]{X: 1, Y: float32(i)}.Add
	sum = sum*31 + int32(add(vec3.V3[float32]{Y: 2}).Y)
	m := grid[int32]{out, len(out)}
	set, at := m.Set, m.At
	set(0, i, sum)
	out[i] = at(0, i) + binary(func(a, b int) int { return a - 2*b }).twiceOf(i)
}

func i32(i int) int32 { return int32(i) }

func (o binary) twiceOf(i int) int32 {
	twice := o.twice
	return int32(twice(i))
}

// MethodSync meets at a barrier by a method value.
//
//kiln:kernel
func MethodSync(t dsl.Thread, out, in []int32) {
	tile := dsl.Shared[[64]int32](t)
	sync, i := t.Sync, t.ThreadX()
	tile[i] = in[i]
	sync()
	out[i] = tile[63-i]
	dsl.Thread.Sync(t)
}
