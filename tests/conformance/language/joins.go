package language

import "github.com/gokiln/kiln/dsl"

type pt struct{ x, y int32 }

// JoinedVariables has a pointer to one of several variables.
//
//kiln:kernel
func JoinedVariables(t dsl.Thread, out []int32, c bool) {
	var s pt
	var arr [3]pt
	q := &s
	if c {
		q = &arr[1]
	}
	q.x = 5
	out[0] = s.x + arr[1].x
}

// JoinedFields has a pointer to one of several variables.
//
//kiln:kernel
func JoinedFields(t dsl.Thread, out []int32, c bool) {
	type hold struct{ in pt }
	var s hold
	var u pt
	q := &s.in
	if c {
		q = &u
	}
	q.x = 5
	out[0] = s.in.x + u.x
}

// JoinedElements has a pointer to one of several variables.
//
//kiln:kernel
func JoinedElements(t dsl.Thread, out []int32, c bool) {
	arr := [2]int32{1, out[0]}
	x := int32(7)
	p := &x
	if c {
		p = &arr[1]
	}
	*p += 2
	out[0] = x + arr[1]
}

func same(p *pt) *pt { return p }

func lesser(a, b *pt) *pt {
	if a.x > b.x {
		return a
	}
	return b
}

// JoinedResults has a pointer to one of several variables.
//
//kiln:kernel
func JoinedResults(t dsl.Thread, out []int32, c bool) {
	var s pt
	var arr [3]pt
	s.x = out[1]
	lesser(&s, &arr[2]).y = 8
	same(&s).x++
	out[0] = s.y + arr[2].y + s.x
}
