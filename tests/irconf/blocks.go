package irconf

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// wholeBlocks is a program over columns of blocks*threads elements in which every
// thread takes part; out gives the output column for the input columns of a block.
func wholeBlocks(name string, types []*ir.Type, blocks, threads int, shared, body string, input func(column, i int) uint64, out func(in [][]uint64) []uint64) Case {
	text := header(name, types)
	// All threads are in range: go on in the first block.
	text = replaceOnce(text, "  %in = lt %i, %hn0 : bool\n  br %in, b1, b2\nb1:\n", "")
	text = replaceOnce(text, "\n\nkernel", "\n"+shared+"\nkernel")
	c := Case{Name: name, Text: text + body + "  ret\n}\n", Types: types}
	columns := make([][]uint64, len(types))
	for b := range blocks {
		in := make([][]uint64, len(types)-1)
		for j := range in {
			for i := range threads {
				in[j] = append(in[j], ir.Normalize(types[j+1], input(j, b*threads+i)))
			}
			columns[j+1] = append(columns[j+1], in[j]...)
		}
		columns[0] = append(columns[0], out(in)...)
	}
	c = c.fill(columns, blocks*threads)
	c.Grid, c.Block = [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}
	return c
}

func replaceOnce(s, old, with string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + with + s[i+len(old):]
		}
	}
	panic("irconf: template lacks " + old)
}

// sharedCases are about shared memory and the block barrier.
func sharedCases() []Case {
	value := func(_, i int) uint64 { return uint64(i*i + 3) }
	reverse := wholeBlocks("permute through shared memory", []*ir.Type{ir.I32, ir.I32}, 3, 256, "shared 0 \"tile\" [256]i32\n", at(1, ir.I32)+`
  %s = shared 0 : ptr<shared,[256]i32>
  %e = index %s, %t : ptr<shared,i32>
  store %e, %x1
  barrier
  %tu = convert %t : u64
  %c0 = const 0 : u64
  %c1 = const 1 : u64
  %c8 = const 8 : u64
  jump loop(%tu, %c0, %c0)
loop(%v: u64, %r: u64, %n: u64):
  %low = and %v, %c1 : u64
  %r1 = shl %r, %c1 : u64
  %r2 = or %r1, %low : u64
  %v1 = shr %v, %c1 : u64
  %n1 = add %n, %c1 : u64
  %more = lt %n1, %c8 : bool
  br %more, loop(%v1, %r2, %n1), done
done:
  %ri = convert %r2 : i64
  %f = index %s, %ri : ptr<shared,i32>
  %y = load %f : i32
`+put("%y", ir.I32), value, func(in [][]uint64) []uint64 {
		out := make([]uint64, 256)
		for i := range out {
			out[i] = in[0][reverse8(i)]
		}
		return out
	})

	scan := wholeBlocks("prefix sum in two buffers", []*ir.Type{ir.I64, ir.I64}, 2, 128, "shared 0 \"a\" [2][128]i64\n", at(1, ir.I64)+`
  %s = shared 0 : ptr<shared,[2][128]i64>
  %c0 = const 0 : i64
  %c1 = const 1 : i64
  %c128 = const 128 : i64
  %s0 = index %s, %c0 : ptr<shared,[128]i64>
  %e = index %s0, %t : ptr<shared,i64>
  store %e, %x1
  barrier
  jump loop(%c1, %c0)
loop(%step: i64, %from: i64):
  %src = index %s, %from : ptr<shared,[128]i64>
  %to = sub %c1, %from : i64
  %dst = index %s, %to : ptr<shared,[128]i64>
  %me = index %src, %t : ptr<shared,i64>
  %v = load %me : i64
  %has = ge %t, %step : bool
  br %has, more, write(%v)
more:
  %j = sub %t, %step : i64
  %other = index %src, %j : ptr<shared,i64>
  %w = load %other : i64
  %vw = add %v, %w : i64
  jump write(%vw)
write(%sum: i64):
  %d = index %dst, %t : ptr<shared,i64>
  store %d, %sum
  barrier
  %two = add %step, %step : i64
  %again = lt %two, %c128 : bool
  br %again, loop(%two, %to), done
done:
`+put("%sum", ir.I64), value, func(in [][]uint64) []uint64 {
		out := make([]uint64, 128)
		sum := uint64(0)
		for i, v := range in[0] {
			sum += v
			out[i] = sum
		}
		return out
	})

	clear := wholeBlocks("zero a shared struct", []*ir.Type{ir.F64, ir.F64}, 2, 64, "shared 0 \"unused\" [4]u8\nshared 1 \"acc\" {i8,f64,[37]i32}\n", at(1, ir.F64)+`
  %s = shared 1 : ptr<shared,{i8,f64,[37]i32}>
  %c0 = const 0 : i64
  %first = eq %t, %c0 : bool
  br %first, init, go
init:
  zero %s
  jump go
go:
  barrier
  %f = field %s, 1 : ptr<shared,f64>
  %old = atomic.add %f, %x1 : f64
  %arr = field %s, 2 : ptr<shared,[37]i32>
  %c36 = const 36 : i64
  %lastp = index %arr, %c36 : ptr<shared,i32>
  %last = load %lastp : i32
  %lf = convert %last : f64
  barrier
  %sum = load %f : f64
  %r = add %sum, %lf : f64
`+put("%r", ir.F64), func(_, i int) uint64 { return math.Float64bits(float64(i)) }, func(in [][]uint64) []uint64 {
		sum := 0.0
		for _, v := range in[0] {
			sum += math.Float64frombits(v)
		}
		out := make([]uint64, 64)
		for i := range out {
			out[i] = math.Float64bits(sum)
		}
		return out
	})
	return []Case{reverse, scan, clear}
}

// lanesOf are the second operands of shuffles, in and out of the range of a warp: as many
// as a block has warps.
func lanesOf(warp int) []int64 {
	if warp == 64 {
		return []int64{0, 1, 5, 31, 32, 33, 63, 64, 65, -1, -2, -64, 1 << 32, 1<<32 + 35, math.MaxInt64, math.MinInt64}
	}
	return []int64{0, 1, 2, 5, 16, 31, 32, 33, 63, 64, -1, -2, -32, 1 << 32, 1<<32 + 3, math.MaxInt64, math.MinInt64}
}

// source returns the lane that a shuffle reads.
func source(warp int, op ir.Op, lane int, y int64) int {
	var s int64
	switch op {
	case ir.OpShflIdx:
		return int(y & int64(warp-1))
	case ir.OpShflUp:
		s = int64(lane) - y
	case ir.OpShflDown:
		s = int64(lane) + y
	default:
		s = int64(lane) ^ y
	}
	if s < 0 || s >= int64(warp) {
		return lane
	}
	return int(s)
}

// warpCases are about the operations of warps of that many threads.
func warpCases(warp int) []Case {
	var out []Case
	for _, op := range []ir.Op{ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor} {
		for _, t := range numTypes {
			out = append(out, shuffle(warp, op, t))
		}
	}
	for _, c := range []struct {
		op   string
		t    *ir.Type
		want func(mask uint64) uint64
	}{
		{"ballot", ir.U64, func(m uint64) uint64 { return m }},
		{"any", ir.Bool, func(m uint64) uint64 { return b2u(m != 0) }},
		{"all", ir.Bool, func(m uint64) uint64 { return b2u(m == math.MaxUint64>>(64-warp)) }},
	} {
		v := wholeBlocks(c.op, []*ir.Type{c.t, ir.I32}, 2, 4*warp, "", at(1, ir.I32)+fmt.Sprintf(`
  %%c0 = const 0 : i32
  %%x = ne %%x1, %%c0 : bool
  %%r = %s %%x : %s
`, c.op, c.t)+put("%r", c.t), func(_, i int) uint64 {
			switch i / warp { // warps with some, all, no and one lane true
			case 1:
				return 1
			case 2, 6:
				return 0
			case 3:
				return b2u(i%warp == warp-1)
			}
			return uint64(i*i) >> 1 & 1
		}, func(in [][]uint64) []uint64 {
			var out []uint64
			for w := 0; w < len(in[0]); w += warp {
				var mask uint64
				for l := range warp {
					mask |= in[0][w+l] << l
				}
				for range warp {
					out = append(out, c.want(mask))
				}
			}
			return out
		})
		v.Warp = true
		out = append(out, v)
	}
	return append(out, butterfly(warp))
}

// shuffle has each lane read once by a lane number from memory for each warp, and
// once by each of the constants; the results are combined in a hash.
func shuffle(warp int, op ir.Op, t *ir.Type) Case {
	lanes := lanesOf(warp)
	as := "bitcast"
	bitsType := []*ir.Type{1: ir.U8, 2: ir.U16, 4: ir.U32, 8: ir.U64}[t.Size()]
	step := func(n int, v string) string {
		return fmt.Sprintf("  %%u%d = %s %s : %s\n  %%v%d = convert %%u%d : u64\n  %%h%d = mul %%g%d, %%prime : u64\n  %%g%d = xor %%h%d, %%v%d : u64\n",
			n, as, v, bitsType, n, n, n, n, n+1, n, n)
	}
	body := at(1, t) + at(2, ir.I64) + "  %prime = const 1099511628211 : u64\n  %g0 = const 17 : u64\n"
	body += fmt.Sprintf("  %%s0 = %s %%x1, %%x2 : %s\n", op, t) + step(0, "%s0")
	for i, y := range lanes {
		body += fmt.Sprintf("  %%y%d = const %d : i64\n  %%s%d = %s %%x1, %%y%d : %s\n", i+1, y, i+1, op, i+1, t) + step(i+1, fmt.Sprintf("%%s%d", i+1))
	}
	last := fmt.Sprintf("%%g%d", len(lanes)+1)
	c := wholeBlocks(fmt.Sprintf("%s %s", op, t), []*ir.Type{ir.U64, t, ir.I64}, 3, warp*len(lanes), "", body+put(last, ir.U64),
		func(j, i int) uint64 {
			if j == 1 { // one lane number a warp, then one of its own for each lane
				if i/(warp*len(lanes)) == 0 {
					return uint64(lanes[i/warp%len(lanes)])
				}
				return uint64(lanes[i%len(lanes)])
			}
			v := uint64(i)*0x9e3779b97f4a7c15 + 1
			if !t.IsInt() { // finite, so that nothing can change its bits
				v &^= 1 << (t.Bits() - 2)
			}
			return v
		},
		func(in [][]uint64) []uint64 {
			var out []uint64
			for i := range in[0] {
				lane, first := i%warp, i-i%warp
				h := uint64(17)
				for _, y := range append([]int64{int64(in[1][i])}, lanes...) {
					v := in[0][first+source(warp, op, lane, y)]
					h = h*1099511628211 ^ ir.Normalize(bitsType, v)
				}
				out = append(out, h)
			}
			return out
		})
	c.Warp = true
	return c
}

// butterfly sums a warp and lets lane 0 of each warp publish the result.
func butterfly(warp int) Case {
	body := at(1, ir.I64)
	x := "%x1"
	for i, d := 0, warp/2; d > 0; i, d = i+1, d/2 {
		body += fmt.Sprintf("  %%d%d = const %d : i64\n  %%o%d = shfl.xor %s, %%d%d : i64\n  %%a%d = add %s, %%o%d : i64\n", i, d, i, x, i, i, x, i)
		x = fmt.Sprintf("%%a%d", i)
	}
	c := wholeBlocks("warp sums through shared memory", []*ir.Type{ir.I64, ir.I64}, 2, 3*warp, "shared 0 \"sums\" [3]i64\n", body+`
  %lane = lane : i64
  %warp = warp : i64
  %s = shared 0 : ptr<shared,[3]i64>
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %lead = eq %lane, %zero : bool
  br %lead, publish, wait
publish:
  %e = index %s, %warp : ptr<shared,i64>
  store %e, `+x+`
  jump wait
wait:
  warpbarrier
  barrier
  %e0 = index %s, %zero : ptr<shared,i64>
  %e1 = index %s, %one : ptr<shared,i64>
  %e2 = index %s, %two : ptr<shared,i64>
  %v0 = load %e0 : i64
  %v1 = load %e1 : i64
  %v2 = load %e2 : i64
  %r0 = mul %v0, %two : i64
  %r1 = add %r0, %v1 : i64
  %r2 = mul %r1, %two : i64
  %r3 = add %r2, %v2 : i64
`+put("%r3", ir.I64), func(_, i int) uint64 { return uint64(i * 31) }, func(in [][]uint64) []uint64 {
		var sums [3]uint64
		for i, v := range in[0] {
			sums[i/warp] += v
		}
		out := make([]uint64, 3*warp)
		for i := range out {
			out[i] = sums[0]*4 + sums[1]*2 + sums[2]
		}
		return out
	})
	c.Warp = true
	return c
}
