package ptx

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/stretchr/testify/require"
)

// simulate runs text over a grid. An error in the program comes back as such.
func simulate(text string, grid, block [3]int, args []byte, buffers [][]byte) error {
	return simParse(text).run(grid, block, args, buffers)
}

func (p *simProgram) run(grid, block [3]int, args []byte, buffers [][]byte) (err error) {
	p.buffers = buffers
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("at %q: %v", p.code[p.at].text, r)
		}
	}()
	if len(args) < p.args {
		return fmt.Errorf("argument block of %d bytes, the kernel takes %d", len(args), p.args)
	}
	for z := range grid[2] {
		for y := range grid[1] {
			for x := 0; x < grid[0]; x += max(p.cluster, 1) {
				p.runCluster([3]int{x, y, z}, grid, block, args)
			}
		}
	}
	return nil
}

// runCluster runs the blocks of a cluster, of which the first is at index.
func (p *simProgram) runCluster(index, grid, block [3]int, args []byte) {
	var blocks []*simBlock
	var all [][]*simThread
	var together []*simThread
	for range max(p.cluster, 1) {
		b, threads := p.newBlock(index, grid, block, args)
		blocks, all, together = append(blocks, b), append(all, threads), append(together, threads...)
		index[0]++
	}
	for _, b := range blocks {
		b.cluster = blocks
	}
	for running := 1; running > 0; {
		running = 0
		for i, threads := range all {
			running += blocks[i].turn(threads)
		}
		meet(together, 2)
	}
}

// newBlock makes a block and its threads.
func (p *simProgram) newBlock(index, grid, block [3]int, args []byte) (*simBlock, []*simThread) {
	b := &simBlock{args: args, bytes: map[int]int{}, shared: make([]byte, p.nShared), dirty: make([]bool, p.nShared), special: map[string]uint64{}}
	for i := range b.shared {
		b.shared[i] = 0xff
	}
	for a, letter := range simAxes {
		b.special["%ntid."+letter] = uint64(block[a])
		b.special["%ctaid."+letter] = uint64(index[a])
		b.special["%nctaid."+letter] = uint64(grid[a])
	}
	var threads []*simThread
	for i := range block[0] * block[1] * block[2] {
		t := &simThread{p: p, id: i, block: b, regs: make([]uint64, len(p.width)), state: make([]simState, len(p.width)), local: make([]byte, p.nLocal)}
		for j := range t.local {
			t.local[j] = 0xee
		}
		t.tid = [3]int{i % block[0], i / block[0] % block[1], i / block[0] / block[1]}
		threads = append(threads, t)
	}
	return b, threads
}

var simAxes = [3]string{"x", "y", "z"}

// special is what a register holds that is there from the beginning.
func (t *simThread) special(name string) uint64 {
	if name == "%laneid" {
		return uint64(t.id % 32)
	}
	if axis, ok := strings.CutPrefix(name, "%tid."); ok {
		return uint64(t.tid[slices.Index(simAxes[:], axis)])
	}
	v, ok := t.block.special[name]
	if !ok {
		panic("unknown register " + name)
	}
	return v
}

// turn lets each thread run until it meets others, and returns how many have not ended.
func (b *simBlock) turn(threads []*simThread) (running int) {
	for _, t := range threads {
		t.step()
		if !t.done {
			running++
		} else {
			t.makeStores(0)
		}
	}
	for w := 0; w < len(threads); w += 32 {
		meet(threads[w:min(w+32, len(threads))], 0)
	}
	for g := 0; g < len(threads); g += 128 {
		meetGroup(b, threads[g:min(g+128, len(threads))])
	}
	meet(threads, 1)
	b.ended = running == 0
	return running
}

// step runs t until it ends or meets others.
func (t *simThread) step() {
	for steps := 0; !t.done && !t.waiting; steps++ {
		if steps > 1e6 {
			panic("endless loop")
		}
		in := &t.p.code[t.pc]
		t.p.at = t.pc
		if in.group != "" {
			t.waiting = true
			return
		}
		in.exec(t)
		t.pc++
		if t.polled {
			t.polled = false
			return
		}
	}
}

// meet lets the threads of a warp (level 0), of the block (1) or of the cluster (2) pass the
// instruction that they all wait at.
func meet(threads []*simThread, level int) {
	var in *simInst
	for _, t := range threads {
		if t.done {
			continue
		}
		if !t.waiting {
			return // it polls, and comes later
		}
		t.p.at = t.pc
		here := &t.p.code[t.pc]
		if in == nil {
			in = here
		}
		want := 0
		switch {
		case here.group == "bar" && here.mods[1] == "sync":
			want = 1
		case here.group == "cluster":
			want = 2
		}
		if here != in || want != level || here.group == "wgmma" {
			return
		}
	}
	if in == nil {
		return
	}
	for _, t := range threads {
		if t.done && level == 0 {
			panic("a thread of the warp has ended")
		}
	}
	switch in.group {
	case "mma":
		multiply(in, threads)
	case "ldmatrix":
		loadMatrices(in, threads)
	}
	exchange(in, threads)
	for _, t := range threads {
		if !t.done {
			t.waiting = false
			t.pc++
		}
	}
}

// exchange runs shuffles and votes, of the registers as they were before.
func exchange(in *simInst, threads []*simThread) {
	if in.group != "shfl" && in.group != "vote" {
		return
	}
	old := make([]simThread, len(threads))
	for i, t := range threads {
		old[i] = simThread{regs: append([]uint64(nil), t.regs...), state: t.state, p: t.p}
	}
	for i, t := range threads {
		if t.done {
			continue
		}
		switch in.group {
		case "shfl":
			in.ops[0].set(t, in.ops[1].get(&old[shuffleSource(in, &old[i], i)]))
		case "vote":
			in.ops[0].set(t, vote(in, old))
		}
	}
}

// meetGroup lets the threads of four warps pass an instruction of theirs that they all wait at.
func meetGroup(b *simBlock, threads []*simThread) {
	for _, t := range threads {
		if here := &t.p.code[t.pc%len(t.p.code)]; t.done || !t.waiting || here.group != "wgmma" || t.pc != threads[0].pc {
			return
		}
	}
	in := &threads[0].p.code[threads[0].pc]
	threads[0].p.at = threads[0].pc
	if len(threads) != 128 {
		panic("a warpgroup is not whole")
	}
	b.group(in, threads)
	for _, t := range threads {
		t.waiting = false
		t.pc++
	}
}

// shuffleSource follows the pseudocode of shfl.sync in the PTX ISA.
func shuffleSource(in *simInst, t *simThread, lane int) int {
	b, c := int(in.ops[2].get(t)&31), int(in.ops[3].get(t))
	segment := c >> 8 & 31
	maxLane := lane&segment | c&31&^segment
	j, ok := 0, false
	switch in.mods[2] {
	case "up":
		j = lane - b
		ok = j >= maxLane
	case "down":
		j = lane + b
		ok = j <= maxLane
	case "bfly":
		j = lane ^ b
		ok = j <= maxLane
	case "idx":
		j = lane&segment | b&^segment
		ok = j <= maxLane
	}
	if in.ops[4].get(t) != math.MaxUint32 || !ok {
		return lane
	}
	return j
}

func vote(in *simInst, threads []simThread) uint64 {
	var mask, all uint64
	for i := range threads {
		mask |= in.ops[1].get(&threads[i]) << i
		all |= 1 << i
	}
	switch in.mods[2] {
	case "ballot":
		return mask
	case "any":
		if mask != 0 {
			return 1
		}
		return 0
	}
	if mask == all {
		return 1
	}
	return 0
}

// TestConformance runs the text of every program of irconf: for one architecture and options of
// three, which the program's name decides, and with KILN_SWEEP=all for all. A -short run has a
// third of the programs.
func TestConformance(t *testing.T) {
	for _, c := range irconf.Cases() {
		if testing.Short() && tooltest.Hash(c.Name)%9 > 2 {
			continue
		}
		ran := ""
		for i, arch := range []string{"sm_70", "sm_90", "sm_90"} {
			if !tooltest.Whole() && tooltest.Hash(c.Name)%3 != uint64(i) {
				continue
			}
			t.Run(c.Name+"/"+arch, func(t *testing.T) {
				m, err := ir.Parse(c.Text)
				require.NoError(t, err)
				if i == 2 { // as small launches are compiled, with bounds checks
					require.NoError(t, pass.Run(m, pass.Options{Narrow: true, SlowDiv: true, Small: true}))
				}
				opt := Options{Aligned: i == 2, Disjoint: i == 2}
				if i == 2 {
					u := analysis.Uniformity(m)
					opt.Uniform = func(b *ir.Block) bool {
						return u.Block(m.Kernel(), b) <= ir.UniformWarp && u.Branch(m.Kernel(), b) <= ir.UniformWarp
					}
				}
				text, err := opt.Emit(m, mustTarget(t, arch))
				require.NoError(t, err)
				_, code, _ := strings.Cut(text, ".address_size")
				if code == ran {
					return // the same as for the architecture before
				}
				ran = code
				got := make([][]byte, len(c.Bufs))
				for i, b := range c.Bufs {
					got[i] = append([]byte(nil), b...)
				}
				args := c.Pack(func(i int) uint64 { return uint64(i+1) << 32 })
				if err := simulate(text, c.Grid, c.Block, args, got); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if err := c.Check(got); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			})
		}
	}
}

// TestConformanceAssembles puts the kernels of all programs into one module.
func TestConformanceAssembles(t *testing.T) {
	for _, arch := range []string{"sm_75", "sm_90"} {
		t.Run(arch, func(t *testing.T) {
			tooltest.Sweep(t, "TestSweep, which has every operation, and TestKernels")
			var all strings.Builder
			for i, c := range irconf.Cases() {
				m, err := ir.Parse(c.Text)
				require.NoError(t, err)
				m.Kernel().Name = fmt.Sprint("k", i)
				text, err := Emit(m, mustTarget(t, arch))
				require.NoError(t, err)
				head, body, _ := strings.Cut(text, ".visible")
				if i == 0 {
					all.WriteString(head)
				}
				all.WriteString(".visible" + body)
			}
			assemble(t, arch, all.String())
		})
	}
}
