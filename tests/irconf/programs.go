package irconf

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// programCases are the cases about anything but scalar operations, for warps of that
// many threads.
func programCases(warp int) []Case {
	var out []Case
	for _, list := range [][]Case{controlCases(), wideCases(), argumentCases(warp), memoryCases(), sharedCases(), warpCases(warp), atomicCases(), negationCases(), divisionCases(), clampedCases(), gatherCases()} {
		out = append(out, list...)
	}
	return out
}

// perThread is a program over columns of n elements, column 0 the output: body
// runs for each index %i, and want gives the output for the inputs at an index.
func perThread(name string, types []*ir.Type, n int, input func(column, i int) uint64, body string, want func(in []uint64) uint64) Case {
	c := Case{Name: name, Text: header(name, types) + body, Types: types}
	columns := make([][]uint64, len(types))
	for i := range n {
		in := make([]uint64, len(types)-1)
		for j := range in {
			in[j] = ir.Normalize(types[j+1], input(j, i))
			columns[j+1] = append(columns[j+1], in[j])
		}
		columns[0] = append(columns[0], ir.Normalize(types[0], want(in)))
	}
	return c.fill(columns, n)
}

// at is the text that loads element %i of slice j as %x<j>.
func at(j int, t *ir.Type) string {
	return fmt.Sprintf("  %%q%d = offset %%p%d, %%i : ptr<global,%s>\n  %%x%d = load %%q%d : %s\n", j, j, t, j, j, t)
}

// put is the text that stores value v of type t in element %i of the output and
// returns.
func put(v string, t *ir.Type) string {
	return fmt.Sprintf("  %%o = offset %%p0, %%i : ptr<global,%s>\n  store %%o, %s\n", t, v)
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// controlCases are about branches, loops and the moves of block arguments.
func controlCases() []Case {
	small := func(_, i int) uint64 { return uint64(i * 7 % 13) }
	rotate := perThread("rotate block arguments", []*ir.Type{ir.I64, ir.I64}, 200, small, at(1, ir.I64)+`
  %one = const 1 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %zero = const 0 : i64
  %yes = const true : bool
  %no = const false : bool
  %f = const 1.5 : f32
  %g = const 2.5 : f32
  jump loop(%one, %two, %three, %zero, %yes, %no, %f, %g)
loop(%a: i64, %e: i64, %c: i64, %n: i64, %u: bool, %v: bool, %h: f32, %j: f32):
  %n2 = add %n, %one : i64
  %more = lt %n, %x1 : bool
  br %more, loop(%e, %c, %a, %n2, %v, %u, %j, %h), done
done:
  %w = select %u, %a, %e : i64
  %k = const 10 : i64
  %w2 = mul %w, %k : i64
  %w3 = add %w2, %c : i64
  %hi = convert %h : i64
  %w4 = mul %w3, %k : i64
  %w5 = add %w4, %hi : i64
`+put("%w5", ir.I64)+footer, func(in []uint64) uint64 {
		a, b, c, u, v, h, j := 1, 2, 3, true, false, 1, 2
		for range in[0] {
			a, b, c, u, v, h, j = b, c, a, v, u, j, h
		}
		w := b
		if u {
			w = a
		}
		return uint64((w*10+c)*10 + h)
	})

	collatz := perThread("steps to one, with early ends", []*ir.Type{ir.U32, ir.U32}, 300, func(_, i int) uint64 { return uint64(i) }, at(1, ir.U32)+`
  %one = const 1 : u32
  %two = const 2 : u32
  %three = const 3 : u32
  %zero = const 0 : u32
  %isz = eq %x1, %zero : bool
  br %isz, none, loop(%x1, %zero)
none:
  %bad = const 999 : u32
  %oz = offset %p0, %i : ptr<global,u32>
  store %oz, %bad
  ret
loop(%n: u32, %s: u32):
  %end = eq %n, %one : bool
  br %end, done(%s), step
step:
  %s1 = add %s, %one : u32
  %odd = and %n, %one : u32
  %isodd = ne %odd, %zero : bool
  br %isodd, up, down
up:
  %n3 = mul %n, %three : u32
  %n4 = add %n3, %one : u32
  jump loop(%n4, %s1)
down:
  %n5 = div %n, %two : u32
  jump loop(%n5, %s1)
done(%r: u32):
`+put("%r", ir.U32)+footer, func(in []uint64) uint64 {
		if in[0] == 0 {
			return 999
		}
		s := uint64(0)
		for n := uint32(in[0]); n != 1; s++ {
			if n%2 != 0 {
				n = n*3 + 1
			} else {
				n /= 2
			}
		}
		return s
	})

	critical := perThread("critical edges", []*ir.Type{ir.I32, ir.I32, ir.I32}, 169,
		func(j, i int) uint64 { return uint64([]int{i % 13, i / 13}[j] - 6) }, at(1, ir.I32)+at(2, ir.I32)+`
  %zero = const 0 : i32
  %c = lt %x1, %x2 : bool
  br %c, join(%x1, %x2), join(%x2, %x1)
join(%lo: i32, %hi: i32):
  %d = sub %hi, %lo : i32
  %neg = lt %lo, %zero : bool
  br %neg, mid, end(%d, %lo)
mid:
  %m = mul %d, %lo : i32
  %five = const 5 : i32
  %big = gt %d, %five : bool
  br %big, end(%m, %hi), end(%lo, %m)
end(%r: i32, %s: i32):
  %k = const 100 : i32
  %rk = mul %r, %k : i32
  %t2 = add %rk, %s : i32
`+put("%t2", ir.I32)+footer, func(in []uint64) uint64 {
			lo, hi := min(int32(in[0]), int32(in[1])), max(int32(in[0]), int32(in[1]))
			d := hi - lo
			r, s := d, lo
			if lo < 0 {
				if d > 5 {
					r, s = d*lo, hi
				} else {
					r, s = lo, d*lo
				}
			}
			return uint64(int64(r*100 + s))
		})

	nested := perThread("nested loops with a value carried through both", []*ir.Type{ir.U64, ir.I64, ir.I64}, 100,
		func(j, i int) uint64 { return uint64([]int{i % 10, i / 10}[j]) }, at(1, ir.I64)+at(2, ir.I64)+`
  %zero = const 0 : i64
  %one = const 1 : i64
  %seed = const 1469598103934665603 : u64
  %prime = const 1099511628211 : u64
  jump outer(%zero, %seed)
outer(%j: i64, %h: u64):
  %oc = lt %j, %x1 : bool
  br %oc, inner(%zero, %h, %j), done
inner(%k: i64, %g: u64, %last: i64):
  %ic = lt %k, %x2 : bool
  br %ic, body, next
body:
  %ku = convert %k : u64
  %g1 = xor %g, %ku : u64
  %g2 = mul %g1, %prime : u64
  %k1 = add %k, %one : i64
  %skip = eq %k1, %last : bool
  br %skip, next2(%g2), inner(%k1, %g2, %j)
next:
  jump next2(%g)
next2(%gn: u64):
  %j1 = add %j, %one : i64
  jump outer(%j1, %gn)
done:
`+put("%h", ir.U64)+footer, func(in []uint64) uint64 {
			h := uint64(1469598103934665603)
			for j := range in[0] {
				for k := range in[1] {
					h = (h ^ k) * 1099511628211
					if k+1 == j {
						break
					}
				}
			}
			return h
		})

	bools := perThread("bool memory and block arguments", []*ir.Type{ir.Bool, ir.Bool, ir.Bool}, 64,
		func(j, i int) uint64 { return uint64(i >> j & 1) }, at(1, ir.Bool)+at(2, ir.Bool)+`
  %no = const false : bool
  br %x1, join(%x2, %no), join(%no, %x1)
join(%a: bool, %c: bool):
  %d = or %a, %c : bool
  %e = select %d, %x2, %c : bool
  %f = eq %e, %x1 : bool
  %g = not %f : bool
  br %g, end(%g), end(%d)
end(%r: bool):
`+put("%r", ir.Bool)+footer, func(in []uint64) uint64 {
			x, y := in[0] != 0, in[1] != 0
			a, c := false, x
			if x {
				a, c = y, false
			}
			d := a || c
			e := c
			if d {
				e = y
			}
			if g := e != x; g {
				return b2u(g)
			}
			return b2u(d)
		})
	return []Case{rotate, collatz, critical, nested, bools}
}

// wideCases are about 64-bit arithmetic and addresses made from narrow integers.
func wideCases() []Case {
	var out []Case
	narrow := []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32}
	for _, a := range narrow {
		for _, b := range narrow {
			for _, t := range []*ir.Type{ir.I64, ir.U64} {
				va, vb := Edges(a), Edges(b)
				out = append(out, perThread(fmt.Sprintf("wide product %s %s %s", t, a, b), []*ir.Type{t, a, b}, len(va)*len(vb),
					func(j, i int) uint64 {
						if j == 0 {
							return va[i%len(va)]
						}
						return vb[i/len(va)]
					},
					at(1, a)+at(2, b)+fmt.Sprintf(`
  %%y1 = convert %%x1 : %s
  %%y2 = convert %%x2 : %s
  %%r = mul %%y1, %%y2 : %s
`, t, t, t)+put("%r", t)+footer,
					func(in []uint64) uint64 { return in[0] * in[1] }))
			}
		}
		for _, k := range []int64{-3, 5, 1 << 31, 1<<32 - 1, 1 << 32, -(1 << 31)} {
			out = append(out, perThread(fmt.Sprintf("wide product %s by %d", a, k), []*ir.Type{ir.I64, a}, len(Edges(a)),
				func(_, i int) uint64 { return Edges(a)[i] },
				at(1, a)+fmt.Sprintf("  %%y = convert %%x1 : i64\n  %%k = const %d : i64\n  %%r = mul %%k, %%y : i64\n", k)+put("%r", ir.I64)+footer,
				func(in []uint64) uint64 { return in[0] * uint64(k) }))
		}
	}
	for _, a := range append(narrow, ir.I64) {
		for _, scale := range []*ir.Type{ir.U8, ir.I32, ir.F64, ir.StructOf(ir.I32, ir.I32, ir.I32)} {
			out = append(out, relative(a, scale))
		}
	}
	return out
}

// relative indexes from the middle of a slice by a narrow integer, plus and minus
// constants.
func relative(index, elem *ir.Type) Case {
	const n = 96
	name := fmt.Sprintf("index by %s into %s", index, elem)
	types := []*ir.Type{ir.I64, index, elem}
	get := func(p, r string) string {
		if elem.Kind != ir.KStruct {
			return fmt.Sprintf("  %%l%s = load %s : %s\n  %s = convert %%l%s : i64\n", p[1:], p, elem, r, p[1:])
		}
		return fmt.Sprintf("  %%f%s = field %s, 1 : ptr<global,i32>\n  %%l%s = load %%f%s : i32\n  %s = convert %%l%s : i64\n", p[1:], p, p[1:], p[1:], r, p[1:])
	}
	ptr := "ptr<global," + elem.String() + ">"
	text := header(name, types) + at(1, index) + strings.ReplaceAll(`
  %mid = const 48 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %back = const -1 : i64
  %y = convert %x1 : i64
  %m2 = offset %p2, %mid : PTR
  %a = offset %m2, %y : PTR
  %u = add %three, %y : i64
  %c = offset %m2, %u : PTR
  %w = sub %y, %two : i64
  %d = offset %m2, %w : PTR
  %e = offset %d, %back : PTR
`, "PTR", ptr) + get("%a", "%ra") + get("%c", "%rc") + get("%d", "%rd") + get("%e", "%re") + `
  %k = const 1000 : i64
  %s0 = mul %ra, %k : i64
  %s1 = add %s0, %rc : i64
  %s2 = mul %s1, %k : i64
  %s3 = add %s2, %rd : i64
  %s4 = mul %s3, %k : i64
  %s5 = add %s4, %re : i64
` + put("%s5", ir.I64) + footer
	c := Case{Name: name, Text: text, Types: types}
	var want, in []uint64
	for i := range 60 {
		d := i - 30
		if !index.IsSigned() {
			d = i / 2
		}
		in = append(in, uint64(d))
		m := uint64(48 + d)
		want = append(want, ((m*1000+m+3)*1000+m-2)*1000+m-3)
	}
	c = c.fill([][]uint64{want, in, nil}, 60)
	var data []byte
	for i := range n {
		switch elem.Kind {
		case ir.KStruct:
			data = append(data, encode(ir.I32, []uint64{7, uint64(i), 9})...)
		case ir.KF64:
			data = append(data, encode(elem, []uint64{eval(Signature{ir.OpConvert, elem, []*ir.Type{ir.I64}}, []uint64{uint64(i)})})...)
		default:
			data = append(data, encode(elem, []uint64{uint64(i)})...)
		}
	}
	c.Bufs[2], c.Want[2] = data, data
	return c
}

// argumentCases pass every type by value, alone and after others that put it at
// an awkward offset.
func argumentCases(warp int) []Case {
	var out []Case
	for _, t := range ir.Scalars {
		for i, v := range thin(Edges(t)) {
			if i > 2 && i < len(thin(Edges(t)))-2 {
				continue
			}
			name := fmt.Sprintf("argument %s %d", t, i)
			text := fmt.Sprintf(`module %q

kernel @k(%%p0: ptr<global,%[2]s>, %%n0: i64, %%z: bool, %%x: %[2]s, %%w: u8, %%y: %[2]s) args(o slice %[2]s "[]T", z scalar bool "bool", x scalar %[2]s "T", w scalar u8 "uint8", y scalar %[2]s "T") {
b0:
  %%i = thread 0 : i64
  %%one = const 1 : i64
  %%first = lt %%i, %%one : bool
  %%pick = select %%z, %%x, %%y : %[2]s
  %%v = select %%first, %%pick, %%y : %[2]s
`, name, t) + strings.Replace(put("%v", t), "store", "bounds %i, %n0\n  store", 1) + "  ret\n}\n"
			other := Edges(t)[1]
			c := Case{Name: name, Text: text, Types: []*ir.Type{t}, Grid: [3]int{1, 1, 1}, Block: [3]int{2, 1, 1}}
			if v == 0 && other == 0 {
				continue
			}
			c.Bufs = [][]byte{encode(t, []uint64{^v, ^other})}
			c.Want = [][]byte{encode(t, []uint64{v, other})}
			if t == ir.Bool {
				c.Bufs = [][]byte{encode(t, []uint64{v ^ 1, other ^ 1})}
			}
			scalar := func(t *ir.Type, v uint64) Arg { return Arg{Buf: -1, Scalar: encode(t, []uint64{v})} }
			c.Args = []Arg{{Buf: 0}, scalar(ir.Bool, 1), scalar(t, v), scalar(ir.U8, 0xee), scalar(t, other)}
			out = append(out, c)
		}
	}
	return append(out, geometry(warp), structArgument())
}

// geometry stores the indices of each thread of a three-dimensional launch.
func geometry(warp int) Case {
	grid, block := [3]int{3, 2, 2}, [3]int{4, 2, 8}
	text := `module "geometry"

kernel @k(%p0: ptr<global,i64>, %n0: i64) args(o slice i64 "[]int") {
b0:
`
	refs := []string{}
	for _, op := range []string{"thread", "block", "blockdim", "griddim"} {
		for axis := range 3 {
			text += fmt.Sprintf("  %%%s%d = %s %d : i64\n", op, axis, op, axis)
			refs = append(refs, fmt.Sprintf("%%%s%d", op, axis))
		}
	}
	text += `  %lane = lane : i64
  %warp = warp : i64
  %ws = warpsize : i64
  %w1 = mul %warp, %ws : i64
  %t = add %w1, %lane : i64
  %g0 = mul %block2, %griddim1 : i64
  %g1 = add %g0, %block1 : i64
  %g2 = mul %g1, %griddim0 : i64
  %g3 = add %g2, %block0 : i64
  %bd0 = mul %blockdim0, %blockdim1 : i64
  %bd1 = mul %bd0, %blockdim2 : i64
  %g4 = mul %g3, %bd1 : i64
  %g5 = add %g4, %t : i64
  %k = const 15 : i64
  %g6 = mul %g5, %k : i64
  %base = offset %p0, %g6 : ptr<global,i64>
`
	for i, r := range append(refs, "%lane", "%warp", "%ws") {
		text += fmt.Sprintf("  %%c%d = const %d : i64\n  %%a%d = offset %%base, %%c%d : ptr<global,i64>\n  store %%a%d, %s\n", i, i, i, i, i, r)
	}
	c := Case{Name: "geometry", Text: text + "  ret\n}\n", Grid: grid, Block: block, Types: []*ir.Type{ir.I64}, Args: []Arg{{Buf: 0}}}
	var want []uint64
	each(grid, func(b [3]int) {
		n := 0
		each(block, func(t [3]int) {
			for _, v := range [][3]int{t, b, block, grid, {n % warp, n / warp, warp}} {
				want = append(want, uint64(v[0]), uint64(v[1]), uint64(v[2]))
			}
			n++
		})
	})
	c.Want = [][]byte{encode(ir.I64, want)}
	c.Bufs = [][]byte{make([]byte, len(c.Want[0]))}
	return c
}

// each calls fn for all indices below n, x fastest.
func each(n [3]int, fn func([3]int)) {
	for z := range n[2] {
		for y := range n[1] {
			for x := range n[0] {
				fn([3]int{x, y, z})
			}
		}
	}
}

// memoryCases are about private objects, structs and pointers.
func memoryCases() []Case {
	value := func(_, i int) uint64 { return uint64(i*2654435761) >> 3 }
	digits := perThread("count digits in a private array", []*ir.Type{ir.U64, ir.U64}, 150, value, at(1, ir.U64)+`
  %h = local : ptr<local,[16]u8>
  zero %h
  %zero = const 0 : u64
  %four = const 4 : u64
  %mask = const 15 : u64
  %one = const 1 : u8
  jump loop(%x1)
loop(%v: u64):
  %d = and %v, %mask : u64
  %di = convert %d : i64
  %e = index %h, %di : ptr<local,u8>
  %c = load %e : u8
  %c1 = add %c, %one : u8
  store %e, %c1
  %v1 = shr %v, %four : u64
  %more = ne %v1, %zero : bool
  br %more, loop(%v1), sum
sum:
  %i0 = const 0 : i64
  jump add(%i0, %zero)
add(%j: i64, %s: u64):
  %f = index %h, %j : ptr<local,u8>
  %n = load %f : u8
  %nu = convert %n : u64
  %s4 = shl %s, %four : u64
  %s5 = add %s4, %nu : u64
  %i1 = const 1 : i64
  %j1 = add %j, %i1 : i64
  %i16 = const 16 : i64
  %again = lt %j1, %i16 : bool
  br %again, add(%j1, %s5), done
done:
`+put("%s5", ir.U64)+footer, func(in []uint64) uint64 {
		var count [16]uint64
		v := in[0]
		for {
			count[v&15]++
			if v >>= 4; v == 0 {
				break
			}
		}
		s := uint64(0)
		for _, c := range count {
			s = s<<4 + c
		}
		return s
	})

	big := perThread("large private objects start as zero", []*ir.Type{ir.I64, ir.I64}, 100, func(_, i int) uint64 { return uint64(i * 37 % 301) }, at(1, ir.I64)+`
  %a = local : ptr<local,[301]{i16,f32,[3]u8}>
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = const 301 : i64
  %ff = const -1 : i16
  %ok = const 255 : u8
  %f = const 3.0 : f32
  jump dirty(%zero)
dirty(%j: i64):
  %e = index %a, %j : ptr<local,{i16,f32,[3]u8}>
  %e0 = field %e, 0 : ptr<local,i16>
  store %e0, %ff
  %e1 = field %e, 1 : ptr<local,f32>
  store %e1, %f
  %e2 = field %e, 2 : ptr<local,[3]u8>
  %two = const 2 : i64
  %e3 = index %e2, %two : ptr<local,u8>
  store %e3, %ok
  %j1 = add %j, %one : i64
  %more = lt %j1, %n : bool
  br %more, dirty(%j1), clean
clean:
  zero %a
  %m = index %a, %x1 : ptr<local,{i16,f32,[3]u8}>
  %m0 = field %m, 0 : ptr<local,i16>
  store %m0, %ff
  jump sum(%zero, %zero)
sum(%k: i64, %s: i64):
  %q = index %a, %k : ptr<local,{i16,f32,[3]u8}>
  %qa = field %q, 0 : ptr<local,i16>
  %v0 = load %qa : i16
  %qb = field %q, 1 : ptr<local,f32>
  %v1 = load %qb : f32
  %qc = field %q, 2 : ptr<local,[3]u8>
  %qd = index %qc, %two : ptr<local,u8>
  %v2 = load %qd : u8
  %w0 = convert %v0 : i64
  %w1 = convert %v1 : i64
  %w2 = convert %v2 : i64
  %y0 = mul %w0, %k : i64
  %y1 = add %y0, %w1 : i64
  %y2 = add %y1, %w2 : i64
  %s1 = add %s, %y2 : i64
  %k1 = add %k, %one : i64
  %again = lt %k1, %n : bool
  br %again, sum(%k1, %s1), done
done:
`+put("%s1", ir.I64)+footer, func(in []uint64) uint64 { return -in[0] })

	pointers := perThread("pointers as values", []*ir.Type{ir.I32, ir.I32, ir.I32}, 128, func(j, i int) uint64 { return uint64((i*5 + j*11) % 17) }, at(1, ir.I32)+at(2, ir.I32)+`
  %pa = local : ptr<local,[2]ptr<global,i32>>
  %i0 = const 0 : i64
  %i1 = const 1 : i64
  %sa = index %pa, %i0 : ptr<local,ptr<global,i32>>
  %sb = index %pa, %i1 : ptr<local,ptr<global,i32>>
  store %sa, %q1
  store %sb, %q2
  %lt = lt %x1, %x2 : bool
  %which = select %lt, %i1, %i0 : i64
  %sc = index %pa, %which : ptr<local,ptr<global,i32>>
  %best = load %sc : ptr<global,i32>
  br %lt, join(%q2, %best), join(%q1, %best)
join(%w: ptr<global,i32>, %u: ptr<global,i32>):
  %v1 = load %w : i32
  %v2 = load %u : i32
  %same = eq %w, %u : bool
  %la = local : ptr<local,[4]i32>
  %lb = local : ptr<local,[4]i32>
  %i2 = const 2 : i64
  %ea = index %la, %i2 : ptr<local,i32>
  %eb = index %lb, %i1 : ptr<local,i32>
  store %ea, %v1
  store %eb, %v2
  %ls = select %lt, %ea, %eb : ptr<local,i32>
  %ln = ne %ls, %ea : bool
  %lv = load %ls : i32
  %c0 = const 0 : i32
  %c1 = const 1000 : i32
  %z = select %same, %c1, %c0 : i32
  %z2 = select %ln, %c0, %c1 : i32
  %r0 = add %z, %z2 : i32
  %r1 = add %r0, %lv : i32
`+put("%r1", ir.I32)+footer, func(in []uint64) uint64 {
		return max(in[0], in[1]) + 1000 + 1000*b2u(in[0] < in[1])
	})
	return []Case{digits, big, pointers}
}

// reverse8 reverses the bits of an index below 256.
func reverse8(i int) int { return int(bits.Reverse8(uint8(i))) }
