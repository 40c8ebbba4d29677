package kernels

import "github.com/gokiln/kiln/dsl"

// Faults is the number of faults that [Fault] has.
const Faults = 26

// Fault breaks rule number fault of Go in one thread, if x, y and z do; the others
// store what has no fault. All of them meet afterwards.
//
//kiln:kernel
func Fault(t dsl.Thread, out []int64, fault, thread int, x, y, z int) {
	tile := dsl.Shared[[8]int64](t)
	block := (t.BlockZ()*t.GridDimY()+t.BlockY())*t.GridDimX() + t.BlockX()
	me := block*t.BlockSize() + t.ThreadIndex()
	value := int64(me)
	if t.ThreadIndex() < 8 {
		tile[t.ThreadIndex()] = 1
	}
	t.Sync()
	if me == thread {
		if fault < 15 {
			value = outOfRange(t, out, tile, fault, x, y, z)
		} else {
			value = otherFault(t, fault, x, y)
		}
	}
	t.Sync()
	if me < len(out) {
		out[me] = value
	}
}

func outOfRange(t dsl.Thread, out []int64, tile *[8]int64, fault, x, y, z int) int64 {
	var local [5]int64
	local[z&3] = 9
	switch fault {
	case 0:
		return out[x]
	case 1:
		return out[uint64(x)]
	case 2:
		out[int8(x)] = 1
	case 3:
		return local[x]
	case 4:
		return tile[x]
	case 5:
		return int64(len(out[:x]))
	case 6:
		return int64(len(out[x:]))
	case 7:
		return int64(len(out[x:y]))
	case 8:
		return int64(len(out[x:y:z]))
	case 9:
		return int64(len(out[:y:z]))
	case 10:
		return int64(len(local[:x]))
	case 11:
		return int64(len(tile[x:y]))
	case 12:
		return int64(len(local[x:y:z]))
	case 13:
		return int64(len(out[uint64(x):]))
	case 14:
		return out[2:6:6][x:y][z]
	}
	return 0
}

func otherFault(t dsl.Thread, fault, x, y int) int64 {
	switch fault {
	case 15:
		return int64(x / y)
	case 16:
		return int64(uint64(x) % uint64(y))
	case 17:
		return int64(int8(x) / int8(y))
	case 18:
		return int64(uint16(x) % uint16(y))
	case 19:
		return int64(int32(x) / int32(y))
	case 20:
		return int64(x << y)
	case 21:
		return int64(uint8(x) >> int8(y))
	case 22:
		dsl.Assert(t, x == y, "x is y")
	case 23:
		var c cursor
		if x == y {
			c.at = &c.own
		}
		return *c.at
	case 24:
		return pastEnd(x)
	case 25:
		return int64(sixth[x])
	}
	return 0
}

// pastEnd sets the first n elements of an array that has four and that no variable indexes once
// the loop is unrolled.
func pastEnd(n int) int64 {
	var a [4]int64
	for i := range 8 {
		if i < n {
			a[i] = int64(i)
		}
	}
	return a[0] + a[3]
}

var sixth = [6]uint8{1, 2, 3, 4, 5, 6}

// cursor is where something is: in own, elsewhere, or nowhere.
type cursor struct {
	at   *int64
	own  int64
	rest []int64
}

// add adds to what the cursor is at.
func (c *cursor) add(x int64) { *c.at += x }

// Cursors uses pointers and slices in structs that are set, copied before they are
// set, and cleared.
//
//kiln:kernel
func Cursors(t dsl.Thread, out, in []int64) {
	i := t.Global()
	var a cursor
	b := a // nothing in it is set
	value := int64(7)
	if i%2 == 0 {
		b.at = &value
	} else {
		b.at = &b.own
	}
	*b.at += int64(i)
	sum := value + b.own
	if i%3 == 0 {
		a.rest = in
	}
	sum += 100 * int64(len(a.rest))
	if i%6 == 0 {
		a = cursor{}
	}
	sum += 1000 * int64(len(a.rest))
	a.at, a.rest = &sum, in[:i%4]
	a.add(10_000 * int64(len(a.rest)))
	b = a
	b.add(100_000)
	b = cursor{}
	b.at, b.rest = &value, in[5:]
	if i < len(out) {
		out[i] = sum + 1_000_000**b.at
	}
}

// FaultAll divides by zero in every thread from the given one on.
//
//kiln:kernel
func FaultAll(t dsl.Thread, out []int32, from int, zero int32) {
	i := t.Global()
	if i < from {
		zero = 1
	}
	out[i] = int32(i) / zero
}

// FaultFrom loads the fifth element behind each thread's own.
//
//kiln:kernel
func FaultFrom(t dsl.Thread, out, x []int32) {
	i := t.Global()
	out[i] = x[i:][5]
}
