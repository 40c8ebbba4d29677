package interp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// steps is a kernel in short: one step a line, done by all threads or, after "if", by
// those for which it holds, up to "end".
//
//	write m[x] v    read m[x]    add m[x] v    load m[x]    store m[x] v    cas m[x] v w    zero s
//	sync    syncwarp    fence    fence.block    shuffle    if x < y
//	copy m[x] v    commit    wait    groups n
//
// m is s, 64 words of shared memory, or one of the slices out and in; x, y, v and w
// are t (thread), u (its neighbour t^1), f (the far one t^32), i, j (thread of the
// grid, and its neighbour), b (block), k (what the last read, add, load or cas gave)
// or a number.
type steps string

func (s steps) text() string {
	var b strings.Builder
	b.WriteString(`
module "m"
checked
shared 0 "s" [64]i64
kernel @K(%out: ptr<global,i64>, %n: i64, %in: ptr<global,i64>, %m: i64) args(out slice i64 "[]int", in slice i64 "[]int") {
b0:` + global + `
  %s = shared 0 : ptr<shared,[64]i64>
  %one = const 1 : i64
  %far = const 32 : i64
  %u = xor %t, %one : i64
  %f = xor %t, %far : i64
  %j = xor %i, %one : i64
  %l = local : ptr<local,i64>
  zero %l
`)
	n, blocks := 0, 0
	var ends []int
	value := func(x string) string {
		n++
		switch {
		case x == "k":
			fmt.Fprintf(&b, "  %%v%d = load %%l : i64\n", n)
		case x[0] >= '0' && x[0] <= '9':
			fmt.Fprintf(&b, "  %%v%d = const %s : i64\n", n, x)
		default:
			return "%" + x
		}
		return fmt.Sprintf("%%v%d", n)
	}
	place := func(x string) string {
		m, x, _ := strings.Cut(strings.TrimSuffix(x, "]"), "[")
		v := value(x)
		n++
		if m == "s" {
			fmt.Fprintf(&b, "  %%v%d = index %%s, %s : ptr<shared,i64>\n", n, v)
		} else {
			fmt.Fprintf(&b, "  %%v%d = offset %%%s, %s : ptr<global,i64>\n", n, m, v)
		}
		return fmt.Sprintf("%%v%d", n)
	}
	line, table := 0, ""
	for text := range strings.Lines(string(s)) {
		w := strings.Fields(text)
		if len(w) == 0 {
			continue
		}
		line++
		table += fmt.Sprintf("pos !%d \"k.go\" %d 1\n", line, line)
		var args []string
		for i, x := range w[1:] {
			switch {
			case x == "<" || x == "s":
			case i == 0 && strings.Contains(x, "["):
				args = append(args, place(x))
			default:
				args = append(args, value(x))
			}
		}
		result := func(op string) {
			n++
			fmt.Fprintf(&b, "  %%v%d = %s %s : i64 !%d\n  store %%l, %%v%d\n", n, op, strings.Join(args, ", "), line, n)
		}
		switch w[0] {
		case "write":
			fmt.Fprintf(&b, "  store %s, %s !%d\n", args[0], args[1], line)
		case "copy":
			fmt.Fprintf(&b, "  store %s, %s !%d\n  copy.begun %[1]s, 1 !%[3]d\n", args[0], args[1], line)
		case "commit", "wait":
			fmt.Fprintf(&b, "  copy.%s !%d\n", w[0], line)
		case "groups":
			fmt.Fprintf(&b, "  copy.wait.groups %s !%d\n", args[0], line)
		case "read":
			result("load")
		case "add", "load", "cas":
			result("atomic." + w[0])
		case "store":
			fmt.Fprintf(&b, "  atomic.store %s, %s !%d\n", args[0], args[1], line)
		case "zero":
			fmt.Fprintf(&b, "  zero %%s !%d\n", line)
		case "sync":
			fmt.Fprintf(&b, "  barrier !%d\n", line)
		case "syncwarp":
			fmt.Fprintf(&b, "  warpbarrier !%d\n", line)
		case "fence", "fence.block":
			fmt.Fprintf(&b, "  %s !%d\n", w[0], line)
		case "shuffle":
			n++
			fmt.Fprintf(&b, "  %%v%d = load %%l : i64\n", n)
			args = []string{fmt.Sprintf("%%v%d", n), "%one"}
			result("shfl.xor")
		case "if":
			n++
			blocks += 2
			ends = append(ends, blocks)
			fmt.Fprintf(&b, "  %%v%d = lt %s, %s : bool\n  br %%v%d, b%d, b%d !%d\nb%d:\n", n, args[0], args[1], n, blocks-1, blocks, line, blocks-1)
		case "end":
			at := ends[len(ends)-1]
			ends = ends[:len(ends)-1]
			fmt.Fprintf(&b, "  jump b%d\nb%d:\n", at, at)
		default:
			panic(text)
		}
	}
	return b.String() + "  ret\n}\n" + table
}

func runSteps(t *testing.T, s string, blocks, threads int) error {
	t.Helper()
	return tryRun(load(t, steps(s).text()), blocks, threads, make([]int64, 1024), make([]int64, 1024))
}

func TestRaces(t *testing.T) {
	const lastBlock = `
		write out[i] i
		sync
		fence
		if t < 1
		add in[0] 1
		write s[0] k
		end
		sync
		read s[0]
		if 0 < k
		read out[t]
		end`
	cases := []struct {
		name, steps     string
		blocks, threads int
		want            string // part of the error, "" for none
	}{
		{"own", "write s[t] i\nread s[t]\nwrite s[t] 3\nwrite out[i] 1\nread out[i]", 4, 64, ""},
		{"exchange", "write s[t] t\nsync\nread s[u]\nwrite out[i] k", 2, 64, ""},
		{"exchange without a barrier", "write s[t] t\nread s[u]\nwrite out[i] k", 2, 64,
			"k.go:2: kernel K: block (0,0,0), thread (0,0,0): data race on s[1]: this thread reads 1 here, thread (1,0,0) wrote 1 at k.go:1, and no barrier is between the two: put t.Sync() there (or t.SyncWarp(), if only lanes of one warp share it)"},
		{"write after read", "write s[t] t\nsync\nread s[u]\nwrite s[t] 5", 1, 64,
			"k.go:4: kernel K: block (0,0,0), thread (0,0,0): data race on s[0]: this thread writes 5 here, thread (1,0,0) read 0 at k.go:3, and no barrier"},
		{"write after read in order", "write s[t] t\nsync\nread s[u]\nsync\nwrite s[t] 5", 1, 64, ""},
		{"all write one", "write out[0] t", 1, 64,
			"k.go:1: kernel K: block (0,0,0), thread (1,0,0): data race on out[0]: this thread writes 1 here, thread (0,0,0) wrote 0 at k.go:1, and no barrier"},
		{"all write the same", "write out[b] 7", 1, 64,
			"thread (1,0,0): data race on out[0]: this thread writes 7 here, thread (0,0,0) wrote 7 (the same value, still a race) at k.go:1"},
		{"one writes", "if t < 1\nwrite out[b] 7\nend\nsync\nread out[b]", 3, 64, ""},
		{"one writes, all read", "if t < 1\nwrite out[b] 7\nend\nread out[b]", 1, 64, "thread (63,0,0): data race on out[0]: this thread reads 7 here, thread (0,0,0) wrote 7 at k.go:2"},
		{"copy", "copy s[t] t\nwait\nsync\nread s[u]", 2, 64, ""},
		{"copy without a wait", "copy s[t] t\nsync\nread s[u]", 1, 64,
			"k.go:3: kernel K: block (0,0,0), thread (0,0,0): data race on s[1]: this thread reads it here, while a copy to it is under way that thread (1,0,0) has begun at k.go:1: that thread has to call dsl.CopyWait"},
		{"own copy without a wait", "copy s[t] t\ncommit\nread s[t]", 1, 64, "k.go:3"},
		{"wait without a barrier", "copy s[t] t\nwait\nread s[u]", 1, 64, "data race on s[1]: this thread reads 1 here, thread (1,0,0) wrote 1 at k.go:1, and no barrier"},
		{"barrier before the wait", "copy s[t] t\nsync\nwait\nread s[u]", 1, 64, "data race on s[1]: this thread reads 1 here, thread (1,0,0) wrote 1 at k.go:1, and no barrier"},
		{"groups", "copy s[t] t\ncommit\ncopy s[f] t\ncommit\ngroups 1\nsync\nread s[u]\ngroups 0\nread s[f]", 1, 32, ""},
		{"too few groups", "copy s[t] t\ncommit\ncommit\ncopy s[f] t\ncommit\ngroups 1\nsync\nread s[u]\nread s[f]", 1, 32, "k.go:9"},
		{"copy of no group", "copy s[t] t\ngroups 0\nread s[t]", 1, 32, "k.go:3"},
		{"write during a copy", "copy s[t] t\ncommit\nwrite s[t] 1", 1, 32, "this thread writes it here, while a copy to it is under way"},
		{"copy during a copy", "copy s[t] t\ncommit\ncopy s[t] 1", 1, 32, "k.go:3"},
		{"copies of blocks", "copy s[t] t", 3, 32, ""},
		{"warp", "write s[t] t\nsyncwarp\nread s[u]\nsyncwarp\nwrite s[t] 4", 2, 64, ""},
		{"warp does not order warps", "write s[t] t\nsyncwarp\nread s[f]", 1, 64,
			"data race on s[32]: this thread reads 32 here, thread (32,0,0) wrote 32 at k.go:1, and no barrier is between the two: put t.Sync() there"},
		{"shuffle orders no memory", "write s[t] t\nshuffle\nread s[u]", 1, 64, "k.go:3"},
		{"block writes after another read", "read out[0]\nif b < 1\nend\nsync\nif 2 < i\nwrite out[0] 3\nend", 1, 3, ""},
		{"neighbour block", "write out[i] i\nif 0 < b\nread out[j]\nend", 2, 1,
			"k.go:3: kernel K: block (1,0,0), thread (0,0,0): data race on out[0]: this thread reads 0 here, block (0,0,0), thread (0,0,0) wrote 0 at k.go:1, and nothing orders the blocks of a launch: use a launch for each step"},
		{"reader of another block", "read out[0]\nif 0 < b\nwrite out[0] 3\nend", 2, 1, "this thread writes 3 here, block (0,0,0), thread (0,0,0) read 0 at k.go:1"},
		{"all read", "read in[0]\nread in[t]\nread in[u]", 5, 64, ""},
		{"histogram", "add out[0] 1\nadd out[t] 1", 5, 64, ""},
		{"histogram in shared memory", "write s[t] 0\nsync\nadd s[0] t\nadd s[u] 1\nsync\nread s[t]\nadd out[t] k", 3, 64, ""},
		{"histogram without atomics", "read out[0]\nwrite out[0] k", 1, 64, "k.go:2"},
		{"atomic and plain", "add out[0] 1\nread out[0]", 1, 2,
			"data race on out[0]: this thread reads 2 here, thread (1,0,0) atomically updated it at k.go:1, and no barrier is between the two: make both accesses atomic, or put t.Sync() there (or t.SyncWarp(), if only lanes of one warp share it)"},
		{"plain and atomic", "write out[i] 0\nadd out[j] 1", 1, 2, "k.go:2: kernel K: block (0,0,0), thread (0,0,0): data race on out[1]: this thread atomically updates it here, thread (1,0,0) wrote"},
		{"read and atomic", "read out[0]\nadd out[0] 1", 1, 2, "this thread atomically updates it here, thread (1,0,0) read"},
		{"atomic load and read", "load out[0]\nread out[0]", 3, 64, ""},
		{"atomic load and write", "load out[0]\nsync\nif b < 1\nif t < 1\nwrite out[0] 1\nend\nend", 1, 64, ""},
		{"atomic load after write", "write out[i] 1\nload out[j]", 1, 2, "this thread atomically reads 1 here"},
		{"write after atomic load", "load out[j]\nwrite out[i] 1", 1, 2, "this thread writes 1 here, thread (1,0,0) atomically read 0 at k.go:1"},
		{"atomic store", "store out[0] t\nload out[0]", 2, 64, ""},
		{"atomic store and read", "store out[0] t\nread out[0]", 1, 2, "this thread reads 1 here, thread (1,0,0) atomically wrote 1 at k.go:1"},
		{"failed swap does not write", "read out[0]\ncas out[0] 5 6", 2, 64, ""},
		{"swap writes", "read out[0]\ncas out[0] 0 6", 1, 2, "k.go:2: kernel K: block (0,0,0), thread (0,0,0)"},
		{"claim", "cas out[b] 0 1\nif k < 1\nwrite in[b] t\nend", 3, 64, ""},
		{"last block", lastBlock, 2, 64, ""},
		{"last block without a fence", strings.Replace(lastBlock, "fence", "", 1), 2, 1, "data race on out[0]"},
		{"last block with a fence for the block", strings.Replace(lastBlock, "fence", "fence.block", 1), 2, 64, "data race on out[0]"},
		{"last block without a barrier", strings.Replace(lastBlock, "sync", "", 1), 2, 64, "data race on out["},
		{"last block before the barrier", "fence\nif t < 1\nadd in[0] 1\nend\nwrite out[i] i\nsync\nload in[0]\nif 0 < b\nread out[j]\nend", 2, 1, "data race on out[0]"},
		{"unrelated atomics", "write out[i] i\nfence\nadd in[b] 1\nif 0 < b\nread out[j]\nend", 2, 1, "data race on out[0]"},
		{"lock", "cas in[0] 0 1\nread out[5]\nwrite out[5] 3\nfence\nstore in[0] 0", 3, 1, ""},
		{"lock without a fence", "cas in[0] 0 1\nread out[5]\nwrite out[5] 3\nstore in[0] 0", 3, 1,
			"use a launch for each step; to hand memory over by an atomic operation, put dsl.Fence() before it"},
		{"flag in shared memory", "if t < 1\nstore s[9] 0\nend\nsync\nif t < 1\nwrite s[0] 4\nfence.block\nstore s[9] 1\nend\nload s[9]\nread s[0]", 2, 64, ""},
		{"flag without a fence", "if t < 1\nstore s[9] 0\nend\nsync\nif t < 1\nwrite s[0] 4\nstore s[9] 1\nend\nload s[9]\nread s[0]", 2, 64, "data race on s[0]"},
		{"ticket through a shuffle", "write out[i] i\nsync\nfence\nif t < 1\nadd in[0] 1\nend\nshuffle\nif 0 < b\nread out[t]\nend", 2, 32, ""},
		{"unset", "if 3 < t\nwrite s[t] 1\nend\nsync\nread s[t]", 2, 64,
			"k.go:5: kernel K: block (0,0,0), thread (0,0,0): this thread reads s[0], which no thread of the block has written"},
		{"unset in the second block", "if b < 1\nwrite s[t] 1\nend\nsync\nread s[t]", 2, 64, "block (1,0,0), thread (0,0,0): this thread reads s[0], which no thread"},
		{"unset atomic", "add s[0] 1", 1, 1, "an atomic operation reads s[0]"},
		{"unset load", "load s[t]", 1, 1, "an atomic operation reads s[0]"},
		{"set by an atomic", "store s[t] 1\nread s[t]\nadd s[t] 1", 2, 64, ""},
		{"zeroed", "if t < 1\nzero s\nend\nsync\nread s[t]", 2, 64, ""},
		{"zeroed by all", "zero s\nsync\nread s[t]", 1, 64, "data race on s[0]: this thread clears it here, thread (0,0,0) cleared it at k.go:1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := runSteps(t, c.steps, c.blocks, c.threads)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestRacesUnchecked runs a race in a build that does not look for any. All of it is in one
// block, which one goroutine runs: Go's own race detector has nothing to find.
func TestRacesUnchecked(t *testing.T) {
	text := strings.Replace(steps("write out[0] 7\nread s[t]").text(), "\nchecked\n", "\n", 1)
	require.NoError(t, tryRun(load(t, text), 1, 64, make([]int64, 1), []int64(nil)))
}

// TestBarrierSides names both sides of a barrier that some threads do not reach.
func TestBarrierSides(t *testing.T) {
	for name, c := range map[string]struct{ steps, want string }{
		"other way": {"if t < 60\nsync\nend\nwrite out[t] 1", "k.go:2: kernel K: block (0,0,0), thread (0,0,0): barrier reached by 60 of 64 threads: thread (60,0,0) took another way and is at k.go:4"},
		"returns":   {"if t < 60\nsync\nend", "barrier reached by 60 of 64 threads: thread (60,0,0) returns"},
		"warp":      {"if t < 60\nsyncwarp\nend\nwrite out[t] 1", "k.go:2: kernel K: block (0,0,0), thread (32,0,0): warp operation without all threads of the warp: thread (60,0,0) took another way and is at k.go:4"},
	} {
		require.ErrorContains(t, runSteps(t, c.steps, 1, 64), c.want, name)
	}
	returned := `
module "m"
checked
kernel @K(%out: ptr<global,i64>, %n: i64) args(out slice i64 "[]int") {
b0:` + global + `
  %k = const 60 : i64
  %c = ge %t, %k : bool
  br %c, b1, b2
b1:
  %p = offset %out, %t : ptr<global,i64>
  store %p, %t !2
  ret !3
b2:
  barrier !1
  ret
}
pos !1 "k.go" 7 1
pos !2 "k.go" 4 1
pos !3 "k.go" 5 1`
	for text, want := range map[string]string{returned: "thread (60,0,0) has returned, last at k.go:5", strings.Replace(returned, "checked\n", "", 1): "thread (60,0,0) has returned"} {
		require.EqualError(t, tryRun(load(t, text), 1, 64, make([]int64, 64)), "k.go:7: kernel K: block (0,0,0), thread (0,0,0): barrier reached by 60 of 64 threads: "+want)
	}
}

// TestRacePlaces names elements by all slices that they belong to, and parts of them.
func TestRacePlaces(t *testing.T) {
	p := load(t, `
module "m"
checked
shared 0 "first" [6]i64
shared 1 "s" [4][3]{i64,[2]f32}
kernel @K(%x: ptr<global,{i64,[2]f32}>, %xn: i64, %y: ptr<global,{i64,[2]f32}>, %yn: i64, %sh: bool) args(x slice {i64,[2]f32} "[]T", y slice {i64,[2]f32} "[]T", sh scalar bool "bool") {
b0:
  %two = const 2 : i64
  %one = const 1 : i64
  %v = const 1.5 : f32
  %e = offset %x, %two : ptr<global,{i64,[2]f32}>
  %f = field %e, 1 : ptr<global,[2]f32>
  %g = index %f, %one : ptr<global,f32>
  %s = shared 1 : ptr<shared,[4][3]{i64,[2]f32}> !1
  %s1 = index %s, %one : ptr<shared,[3]{i64,[2]f32}>
  %s2 = index %s1, %two : ptr<shared,{i64,[2]f32}>
  %s3 = field %s2, 0 : ptr<shared,i64>
  br %sh, b1, b2
b1:
  store %s3, %one
  ret
b2:
  store %g, %v
  ret
}
pos !1 "k.go" 3 1`)
	mem := make([]int64, 20)
	require.ErrorContains(t, tryRun(p, 1, 2, mem[:6], mem[2:5], false), "data race on x[2] field 2[1], that is y[1] field 2[1]: this thread writes 1.5")
	require.ErrorContains(t, tryRun(p, 1, 2, mem, mem, true), "data race on element [1][2] field 1 of the shared memory declared at k.go:3: this thread writes 1")
}

// TestRaceSizes looks at accesses of other sizes and alignments than the first.
func TestRaceSizes(t *testing.T) {
	for _, c := range []struct {
		name               string
		addr, size         uint64
		addr2, size2       uint64
		conflict, nextPage bool
	}{
		{"same", 8, 8, 8, 8, true, false},
		{"inside", 8, 8, 12, 4, true, false},
		{"last byte", 8, 8, 15, 1, true, false},
		{"around", 10, 2, 8, 8, true, false},
		{"beside", 8, 4, 12, 4, false, false},
		{"next byte", 8, 1, 9, 1, false, false},
		{"across", 6, 4, 9, 1, true, false},
		{"object", 3, 100, 102, 1, true, false},
		{"behind the object", 3, 100, 103, 1, false, false},
		{"pages", 4000, 9000, 12999, 1, true, false},
		{"behind pages", 4000, 9000, 13000, 1, false, false},
	} {
		for _, swap := range []bool{false, true} {
			c := c
			if swap {
				c.addr, c.size, c.addr2, c.size2 = c.addr2, c.size2, c.addr, c.size
			}
			k := newChecker(&worker{threads: 64}, WarpSize)
			k.beginBlock()
			require.False(t, k.touch(plainWrite, c.addr, int(c.size), newAccess(k.now, 1, 0)).bad())
			require.Equal(t, c.conflict, k.touch(plainRead, c.addr2, int(c.size2), newAccess(k.now, 2, 1)).bad(), "%s, swapped %t", c.name, swap)
		}
	}
}

// event is an access of the random test, with what orders it.
type event struct {
	kind                       kind
	thread, block, epoch, warp int // warp counts the barriers of the warp
	addr, size                 uint64
}

func (e *event) races(f *event, shared bool) bool {
	switch {
	case e.addr >= f.addr+f.size || f.addr >= e.addr+e.size, !e.kind.writes() && !f.kind.writes(), e.kind.atomic() && f.kind.atomic():
		return false
	case e.block != f.block:
		return !shared
	}
	return e.thread != f.thread && e.epoch == f.epoch && (e.thread/WarpSize != f.thread/WarpSize || e.warp == f.warp)
}

// TestRandomRaces compares the checker with the definition: every pair of accesses.
func TestRandomRaces(t *testing.T) {
	const threads = 96
	found := 0
	for seed := range uint64(6000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		shared := seed%2 == 0
		c := newChecker(&worker{threads: threads}, WarpSize)
		c.shared, c.blind = shared, true
		if seed%5 == 0 {
			c.now = math.MaxUint32 - 1000000
		}
		c.beginBlock()
		c.blind = true
		places, active, rare := 1+rng.Uint64N(1<<rng.IntN(6)), 2+rng.IntN(1+rng.IntN(threads-1)), 2+rng.IntN(12)
		kinds, more := 5, 0
		if seed%3 == 1 { // what the fast path takes
			kinds, more = 2, 3
		}
		var all []event
		var epoch, block int
		var warps [threads / WarpSize]int
		for n := rng.IntN(100); len(all) < n; {
			switch rng.IntN(8) {
			case 0:
				epoch++
				c.meet()
				continue
			case 1:
				w := rng.IntN(len(warps))
				warps[w]++
				c.meetWarp(w * WarpSize)
				continue
			case 2:
				if rng.IntN(8) == 0 {
					block++
					epoch++
					c.beginBlock()
					c.blind = true
				}
				continue
			}
			e := event{kind: kind(rng.IntN(kinds)), thread: rng.IntN(active), block: block, epoch: epoch, size: 1 << max(rng.IntN(4), more)}
			if rng.IntN(rare) > 0 {
				e.kind = plainRead
			}
			e.warp, e.addr = warps[e.thread/WarpSize], rng.Uint64N(places)*8+rng.Uint64N(max(8/e.size, 1))*e.size
			var got access
			if me := newAccess(c.now, int32(len(all)), e.thread); seed%3 == 0 || !c.quick(e.kind, e.addr, e.size, me) {
				got = c.touch(e.kind, e.addr, int(e.size), me).other
			}
			want := false
			for i := range all {
				want = want || e.races(&all[i], shared)
			}
			require.Equal(t, want, got != 0, "seed %d: event %d, %+v", seed, len(all), e)
			if want {
				require.True(t, e.races(&all[got.site()], shared), "seed %d: event %d, %+v, does not race with %d, %+v", seed, len(all), e, got.site(), all[got.site()])
				require.Equal(t, all[got.site()].block, c.blockOf(got))
				found++
				break
			}
			all = append(all, e)
		}
	}
	require.Greater(t, found, 1000)
	require.Less(t, found, 5500)
}

// TestReleases takes what is beyond the limit to be in order.
func TestReleases(t *testing.T) {
	c := newChecker(&worker{threads: 64}, WarpSize)
	c.beginBlock()
	require.False(t, c.touch(plainWrite, 64, 8, newAccess(c.now, 1, 0)).bad())
	c.fenced = true
	c.release(8, 0)
	require.Len(t, c.releases, 1)
	require.False(t, c.touch(plainWrite, 72, 8, newAccess(c.now, 1, 0)).bad(), "after the release")
	require.True(t, c.touch(plainRead, 64, 8, newAccess(c.now, 2, 1)).bad())
	c.acquire(16, 1)
	require.True(t, c.touch(plainRead, 64, 8, newAccess(c.now, 2, 1)).bad(), "of another flag")
	c.acquire(8, 1)
	require.False(t, c.touch(plainRead, 64, 8, newAccess(c.now, 2, 1)).bad())
	require.True(t, c.touch(plainRead, 72, 8, newAccess(c.now, 2, 1)).bad())
	require.True(t, c.touch(plainRead, 64, 8, newAccess(c.now, 2, 2)).bad(), "thread 2 knows nothing")
	c.meet()
	require.False(t, c.touch(plainRead, 72, 8, newAccess(c.now, 2, 2)).bad())

	c.releases = make([]release, maxReleases)
	c.release(8, 0)
	require.True(t, c.full)
	require.Empty(t, c.releases)
	require.False(t, c.touch(plainWrite, 72, 8, newAccess(c.now, 2, 5)).bad())
}

// TestClockOverflow forgets what was before, and takes nothing for a mistake.
func TestClockOverflow(t *testing.T) {
	c := newChecker(&worker{threads: 64}, WarpSize)
	c.now = math.MaxUint32 - 2
	c.beginBlock()
	c.beginBlock()
	c.shared = true
	require.False(t, c.touch(plainWrite, 64, 8, newAccess(c.now, 1, 0)).bad())
	c.meet()
	require.Less(t, c.now, uint32(10))
	require.Equal(t, verdict{}, c.touch(plainRead, 64, 8, newAccess(c.now, 1, 1)), "written before the clock began anew")
	require.Equal(t, 1, c.blockOf(newAccess(c.now, 1, 1)))
	c.beginBlock()
	require.Equal(t, 2, c.blockOf(newAccess(c.now, 1, 1)))
	require.True(t, c.touch(plainRead, 72, 8, newAccess(c.now, 1, 1)).unset)
}
