package ptx

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
)

// copied is how many elements the kernel of copyKernel copies: some are left of the last
// 16 bytes.
const copied = 19

// copyKernel copies elements from the source, from element from on, to shared memory,
// from element to on, in some order, and then writes them out.
func copyKernel(t *ir.Type, from, to int, order []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module \"m\"\nshared 0 \"s\" [64]%s\n", t)
	fmt.Fprintf(&b, "kernel @k(%%0: ptr<global,%[1]s>, %%1: i64, %%2: ptr<global,%[1]s>, %%3: i64) args(out slice %[1]s \"[]T\", x slice %[1]s \"[]T\") {\n", t)
	fmt.Fprintf(&b, "b0:\n  %%4 = shared 0 : ptr<shared,[64]%s>\n", t)
	n := 5
	add := func(format string, args ...any) int {
		n++
		fmt.Fprintf(&b, "  %%%d = %s\n", n-1, fmt.Sprintf(format, args...))
		return n - 1
	}
	at := func(op string, base, i int, space string) int {
		return add("%s %%%d, %%%d : ptr<%s,%s>", op, base, add("const %d : i64", i), space, t)
	}
	for _, i := range order {
		src, dst := at("offset", 2, from+i, "global"), at("index", 4, to+i, "shared")
		fmt.Fprintf(&b, "  copy.async %%%d, %%%d\n", dst, src)
	}
	b.WriteString("  copy.wait\n")
	for i := range order {
		x := add("load %%%d : %s", at("index", 4, to+i, "shared"), t)
		fmt.Fprintf(&b, "  store %%%d, %%%d\n", at("offset", 0, i, "global"), x)
	}
	b.WriteString("  ret\n}\n")
	return b.String()
}

var copySize = regexp.MustCompile(`cp\.async\.\S+ \S+ \S+ (\d+);`)

// TestCopies runs copies of every type from and to all places within 16 bytes. What
// is read has been waited for: the simulator makes copies no sooner. Where places are
// alike no more copies are made than are needed. Types of a size differ by name only: one
// of them has all places, the others the first unless there is a sweep.
func TestCopies(t *testing.T) {
	tried := map[int]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	var all strings.Builder
	for _, typ := range ir.Scalars {
		if typ == ir.Bool {
			continue
		}
		size := typ.Size()
		places := 16 / size
		if tried[size] && !tooltest.Sweeps() {
			places = 1
		}
		tried[size] = true
		for from := range places {
			for to := range places {
				for _, opt := range []Options{{}, {Aligned: true, Disjoint: true}, {Aligned: true, Scalar: true}} {
					m := parse(t, copyKernel(typ, from, to, r.Perm(copied)))
					text, err := opt.Emit(m, mustTarget(t, "sm_80"))
					require.NoError(t, err)
					runCopies(t, text, size, from)
					sizes := copySize.FindAllStringSubmatch(text, -1)
					switch {
					case opt.Aligned && !opt.Scalar:
						require.Len(t, sizes, wantCopies(size, from, to), "%s from %d to %d\n%s", typ, from, to, text)
					case size < minCopy:
						require.Empty(t, sizes)
					default:
						require.Len(t, sizes, copied)
					}
					if head, body, _ := strings.Cut(text, ".visible .entry k("); to == 0 {
						if all.Len() == 0 {
							all.WriteString(head)
						}
						fmt.Fprintf(&all, ".visible .entry k%d(%s", all.Len(), body)
					}
				}
			}
		}
	}
	assemble(t, "sm_80", all.String()) // at the end: without an assembler it skips
}

func runCopies(t *testing.T, text string, size, from int) {
	t.Helper()
	out, x := make([]byte, copied*size), make([]byte, (copied+from)*size)
	for i := range x {
		x[i] = byte(i + 1)
	}
	args := make([]byte, 0, 32)
	for i, b := range [][]byte{out, x} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(len(b)/size))
	}
	require.NoError(t, simulate(text, [3]int{1, 1, 1}, [3]int{1, 1, 1}, args, [][]byte{out, x}))
	require.Equal(t, x[from*size:], out, text)
}

// wantCopies counts the copies of 4, 8 and 16 bytes, largest first, that are aligned
// at both ends.
func wantCopies(size, from, to int) (n int) {
	src, dst, left := from*size, to*size, copied*size
	for left > 0 {
		step := size
		for b := maxVector; b > size && b >= minCopy; b /= 2 {
			if b <= left && src%b == 0 && dst%b == 0 {
				step = b
				break
			}
		}
		if step >= minCopy {
			n++
		}
		src, dst, left = src+step, dst+step, left-step
	}
	return n
}

// TestCopyOrder has stores on both sides of a copy of what they write, and over it: they
// stay where they are. Stores beside a copy from memory that the kernel does not change
// make one.
func TestCopyOrder(t *testing.T) {
	emit := func(stores string, opt Options) []string {
		text, err := opt.Emit(parse(t, `module "m"
shared 0 "s" [4]f32
kernel @k(%0: ptr<global,f32>, %1: i64, %2: ptr<global,f32>, %3: i64, %4: f32) args(out slice f32 "[]float32", x slice f32 "[]float32", y scalar f32 "float32") {
b0:
  %5 = shared 0 : ptr<shared,[4]f32>
  %6 = const 0 : i64
  %7 = const 1 : i64
  %8 = index %5, %6 : ptr<shared,f32>
  %9 = index %5, %7 : ptr<shared,f32>
  %10 = offset %0, %6 : ptr<global,f32>
  %11 = offset %0, %7 : ptr<global,f32>
  %12 = offset %2, %6 : ptr<global,f32>
`+stores+`
  copy.wait
  ret
}
`), mustTarget(t, "sm_80"))
		require.NoError(t, err)
		var ops []string
		for _, op := range Opcodes(text) {
			if strings.HasPrefix(op, "st.") || strings.HasPrefix(op, "cp.") {
				ops = append(ops, op)
			}
		}
		return ops
	}
	aligned, disjoint := Options{Aligned: true}, Options{Aligned: true, Disjoint: true}
	const copied, wait = "cp.async.ca.shared.global", "cp.async.wait_all"
	require.Equal(t, []string{"st.global.b32", copied, "st.global.b32", wait},
		emit("store %10, %4\ncopy.async %8, %10\nstore %11, %4", disjoint))
	require.Equal(t, []string{"st.global.b32", copied, "st.global.b32", wait},
		emit("store %10, %4\ncopy.async %8, %12\nstore %11, %4", aligned))
	require.Equal(t, []string{copied, "st.global.v2.b32", wait},
		emit("store %10, %4\ncopy.async %8, %12\nstore %11, %4", disjoint))
	require.Equal(t, []string{"st.shared.b32", copied, "st.shared.b32", wait},
		emit("store %8, %4\ncopy.async %8, %12\nstore %9, %4", disjoint))
}

// vectorKernel copies a vector of n elements from element from of the source to element to of
// shared memory if its last parameter says so, in a group that it waits for, and writes that and
// the neighbours out.
func vectorKernel(t *ir.Type, n, from, to int, always bool) string {
	ok := "%4"
	if always {
		ok = "%5"
	}
	text := fmt.Sprintf(`module "m"
shared 0 "s" [64]%[1]s
kernel @k(%%0: ptr<global,%[1]s>, %%1: i64, %%2: ptr<global,%[1]s>, %%3: i64, %%4: bool) args(out slice %[1]s "[]T", x slice %[1]s "[]T", ok scalar bool "bool") {
b0:
  %%5 = const true : bool
  %%6 = const %[3]d : i64
  %%7 = const %[4]d : i64
  %%8 = shared 0 : ptr<shared,[64]%[1]s>
  %%9 = offset %%2, %%6 : ptr<global,%[1]s>
  %%10 = index %%8, %%7 : ptr<shared,%[1]s>
  copy.vec %%10, %%9, %[5]s, %[2]d
  copy.commit
  %%11 = const 0 : i64
  copy.wait.groups %%11
`, t, n, from, to, ok)
	var b strings.Builder
	b.WriteString(text)
	for i := range n {
		fmt.Fprintf(&b, "  %%i%[1]d = const %[1]d : i64\n  %%s%[1]d = add %%7, %%i%[1]d : i64\n  %%p%[1]d = index %%8, %%s%[1]d : ptr<shared,%[2]s>\n", i, t)
		fmt.Fprintf(&b, "  %%x%[1]d = load %%p%[1]d : %[2]s\n  %%q%[1]d = offset %%0, %%i%[1]d : ptr<global,%[2]s>\n  store %%q%[1]d, %%x%[1]d\n", i, t)
	}
	return b.String() + "  ret\n}\n"
}

// TestVectorCopies copies vectors of every type from and to places that are aligned and some that
// are not, and zeros in their place.
func TestVectorCopies(t *testing.T) {
	var all strings.Builder
	for _, typ := range ir.Scalars {
		if typ == ir.Bool {
			continue
		}
		size := typ.Size()
		for _, n := range []int{2, 4, 8, 16} {
			for _, c := range []struct {
				from, to int
				ok       byte
				opt      Options
			}{
				{0, 0, 1, Options{Aligned: true}}, {n, 2 * n, 0, Options{Aligned: true}}, {1, 0, 1, Options{Aligned: true}},
				{n, 2, 1, Options{Aligned: true, Scalar: true}}, {0, 0, 1, Options{}}, {0, n, 0, Options{}},
			} {
				for _, always := range []bool{false, true} {
					text, err := c.opt.Emit(parse(t, vectorKernel(typ, n, c.from, c.to, always)), mustTarget(t, "sm_80"))
					require.NoError(t, err)
					runVector(t, text, size, n, c.from, c.ok, always)
					if bytes := n * size; c.opt.Aligned && c.from%n == 0 && c.to%n == 0 && bytes >= minCopy {
						require.Equal(t, max(bytes/maxVector, 1), strings.Count(text, ".shared.global"), text)
						require.Equal(t, bytes >= maxVector, strings.Contains(text, "cp.async.cg"), text)
					}
					head, body, _ := strings.Cut(text, ".visible .entry k(")
					if all.Len() == 0 {
						all.WriteString(head)
					}
					fmt.Fprintf(&all, ".visible .entry k%d(%s", all.Len(), body)
				}
			}
		}
	}
	assemble(t, "sm_80", all.String()) // at the end: without an assembler it skips
}

func runVector(t *testing.T, text string, size, n, from int, ok byte, always bool) {
	t.Helper()
	out, x := make([]byte, n*size), make([]byte, (n+from)*size)
	for i := range x {
		x[i] = byte(i + 1)
	}
	want := x[from*size:]
	if ok == 0 && !always {
		x, want = x[:0], make([]byte, n*size) // reading anything would fail
	}
	var args []byte
	for i, b := range [][]byte{out, x} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(len(b)/size))
	}
	args = append(args, ok, 0, 0, 0, 0, 0, 0, 0)
	require.NoError(t, simulate(text, [3]int{1, 1, 1}, [3]int{1, 1, 1}, args, [][]byte{out, x}))
	require.Equal(t, want, out, text)
}
