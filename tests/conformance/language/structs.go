//lint:file-ignore SA5002,S1023,SA4028,ST1015 odd code is what is tested

package language

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

// Particle is a struct of structs, small types and an array.
type Particle struct {
	Pos, Vel vec3.V3[float32]
	Kind     vec3.Color
	Alive    bool
	Tags     [3]int16
}

// Energy is half the square of the speed.
func (p Particle) Energy() float32 { return p.Vel.Dot(p.Vel) / 2 }

// Step moves the particle.
func (p *Particle) Step(dt float32) {
	v := p.Vel
	v.Scale(dt)
	p.Pos = p.Pos.Add(v)
	p.Tags[p.Kind]++
}

// StructArrays has structs as parameters, in local and in shared arrays.
//
//kiln:kernel
func StructArrays(t dsl.Thread, out []float32, seed Particle, many [2]Particle) {
	i := t.Global()
	var local [4]Particle
	for j := range local {
		local[j] = seed
		local[j].Vel.X += float32(j * i)
		local[j].Kind = local[j].Kind.Next()
		local[j].Step(0.5)
	}
	sh := dsl.Shared[[64]Particle](t)
	sh[t.ThreadX()] = local[i&3]
	t.Sync()
	p := sh[(t.ThreadX()+1)%t.BlockDimX()]
	p.Step(float32(many[i&1].Tags[i%3]))
	q := &sh[t.ThreadX()]
	t.Sync()
	q.Step(2)
	q.Tags[i%3] = 7
	s := float32(0)
	for _, r := range many {
		s += r.Energy()
	}
	for _, r := range local {
		if r.Alive && r == local[2] {
			s += r.Pos.X
		}
	}
	sl := sh[t.ThreadX() : t.ThreadX()+1]
	sl[0].Pos.X++
	out[i] = s + p.Energy() + p.Pos.X + q.Pos.Y + float32(q.Tags[0]+q.Tags[1]*2+p.Tags[2])
}

// Flow has nested labelled control flow, switch in all forms.
//
//kiln:kernel
func Flow(t dsl.Thread, out []int32, in []int32) {
	i := t.Global()
	if i >= len(in) {
		return
	}
	x := in[i]
	n := int32(0)
	const (
		a = iota * 3
		b
		c
	)
outer:
	for r := int32(0); r < 10; r++ {
	inner:
		for c := int32(0); ; c++ {
			switch {
			case c > r:
				break inner
			case (r+c+x)%5 == 0:
				continue outer
			case n > 1000:
				break outer
			}
			for k := range 3 {
				if k == 1 && c%2 == 0 {
					continue inner
				}
				n += int32(k) + c
			}
		}
		n += r
	}
	switch y := x % 7; y {
	case a, 1:
		n++
		fallthrough
	case b:
		n *= 2
	case c, -c:
		n -= 5
		if n < 0 {
			break
		}
		n += 3
	default:
		n = -n
	}
	switch y := third(x); {
	case y > 3:
		n ^= 1
	default:
		n ^= 2
	case y < -3:
		n ^= 4
	}
	switch x := x & 3; x {
	}
	switch {
	}
sw:
	switch x & 1 {
	case 0:
		for {
			n++
			if n%3 == 0 {
				break sw
			}
		}
	}
blk:
	for {
		if n > 4 {
			break blk
		}
		n += 100
	}
	if v, ok := look(x); ok {
		n += v
	} else if w := v * 2; w > 3 {
		n -= w
	} else {
		n += w
	}
	for n < 0 {
		n += 1 << 20
	}
	out[i] = n
}

func third(x int32) (y int32) {
	start := x
	y = start / 3
	if y > 10 {
		return 10
	}
	return
}

func look(x int32) (v int32, ok bool) {
	if x < 0 {
		return
	}
	v, ok = x+1, x&1 == 0
	return v, ok
}

// Assign has assignments of several values and named results.
//
//kiln:kernel
func Assign(t dsl.Thread, out []int) {
	i := t.Global()
	a := [3]int{i, i + 1, i + 2}
	a[0], a[1], a[2] = a[2], a[0], a[1]
	j := 0
	j, a[j] = 1, 9
	k, m := three(i)
	{
		k := k + 1
		a[1] += k
		if k := m; k > 2 {
			a[2] = k
		}
	}
	x, y := m, k
	x, y = y, x
	x += y &^ 3
	x |= 8
	x %= 1000
	x <<= 2
	y >>= 1
	y ^= x
	var p, q = &a, &a[1]
	*q++
	(*p)[2]--
	p[0] *= 2
	b := a
	b[0] = 1
	eq := b == a
	c := b
	eq2 := c == b
	r := 0
	if eq != eq2 {
		r = 5
	}
	_, z := three(r)
	_ = z
	out[i] = a[0] + 10*a[1] + 100*a[2] + x*1000 + y*7 + r + z + j
}

func three(i int) (n, m int) {
	m = 3 + i
	n = m * 2
	m, n = n, m
	return
}

// Grid2 is a matrix in memory.
type Grid2[T any] struct {
	Cells []T
	Cols  int
}

// At returns the address of a cell.
func (g Grid2[T]) At(row, col int) *T { return &g.Cells[row*g.Cols+col] }

// Row returns the cells of a row.
func (g *Grid2[T]) Row(row int) []T { return g.Cells[row*g.Cols : (row+1)*g.Cols] }

// Scene has slices in structs, and other types between them.
type Scene struct {
	In    Grid2[float32]
	Shift [2]int16
	Work  struct {
		Marks []int8
		On    bool
		Deep  Grid2[int32]
	}
	Step dsl.ConstInt
	By   dsl.F16
}

// Views reads and writes through slices in structs.
//
//kiln:kernel
func Views(t dsl.Thread, out []float32, s Scene, weights Grid2[float32]) {
	n := len(s.In.Cells) / s.In.Cols
	for row := t.Global(); row < n; row += t.GlobalSize() {
		s.Work.Marks[row] = int8(row - 7)
		cells := s.In.Row(row)
		deep := s.Work.Deep
		for col, x := range cells {
			if s.Work.On && col%int(s.Step) == int(s.Shift[1]) {
				*deep.At(row, col) += int32(s.Work.Marks[row])
				x *= *weights.At(0, col) + dsl.F32(s.By)
			}
			out[row*s.In.Cols+col] = x + float32(*deep.At(row, col))
		}
	}
}
