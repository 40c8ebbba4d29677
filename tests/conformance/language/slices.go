package language

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

// P is an element of a slice, with padding inside.
type P struct {
	Kind int8
	V    vec3.V3[float32]
	H    dsl.F16
	On   bool
	N    int64
	A    [2]uint16
	E    dsl.F8E5M2
}

func (p *P) hit(x float32) { p.V.Scale(x); p.N++; p.On = !p.On }

// SliceOfStruct changes structs and arrays in global memory.
//
//kiln:kernel
func SliceOfStruct(t dsl.Thread, ps []P, out []float32, rows [][3]float32) {
	for i := t.Global(); i < len(ps); i += t.GlobalSize() {
		p := &ps[i]
		p.hit(2)
		ps[i].A[i&1] += 3
		q := ps[i]
		q.N += 5
		q.H = dsl.To[dsl.F16](dsl.F32(q.H) + 1)
		q.E = dsl.To[dsl.F8E5M2](dsl.F32(q.E) + 1)
		if i%2 == 0 {
			ps[i] = q
		}
		for k, r := range rows[i] {
			rows[i][k] = r * float32(p.Kind)
		}
		rows[i][i%3]++
		s := float32(0)
		for _, r := range ps[i : i+1] {
			s += r.V.Dot(q.V) + float32(r.A[1])
		}
		out[i] = s + rows[i][2]
	}
}

// SliceOfT turns blocks of anything around through shared memory.
//
//kiln:kernel
func SliceOfT[T any](t dsl.Thread, dst, src []T) {
	sh := dsl.Shared[[32]T](t)
	i := t.Global()
	sh[t.ThreadX()] = src[i]
	t.Sync()
	dst[i] = sh[31-t.ThreadX()]
}

// SlicesFrom adds elements at places that are constants, of a slice that begins at each
// thread's own and ends with x: there is less of it from thread to thread.
//
//kiln:kernel
func SlicesFrom(t dsl.Thread, out, x []int32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	own := x[i:]
	s := own[0]
	if i < len(x)-20 {
		s += 3*own[3] + 20*own[20]
	}
	out[i] = s
}
