package docs

import (
	"fmt"
	"strings"
)

// class is how expensive an instruction is, from the cheapest up.
type class int

const (
	free class = iota
	arithmetic
	slow
	division
	shared
	exchange
	matrix
	memory
	atomic
	barrier
	numClasses
)

// classes explains each class; the figures are those that NVIDIA's programming
// guide and published microbenchmarks agree on in order of magnitude.
var classes = [numClasses]struct{ name, doc string }{
	free:       {"free", "no instruction: a constant, or part of the instruction that uses it"},
	arithmetic: {"arithmetic", "each multiprocessor starts one a cycle for every lane, or half as many"},
	slow:       {"slow arithmetic", "an eighth to a quarter of that rate: conversions between widths, bit counts, 64-bit products"},
	division:   {"division", "a routine of ten to forty machine instructions behind one line of PTX"},
	shared:     {"local or shared memory", "some 20–30 cycles until the value is there; bank conflicts and cache misses multiply it"},
	exchange:   {"exchange", "some 20–30 cycles; all lanes of the warp take part"},
	matrix:     {"matrix instruction", "some 20–40 cycles until the sums are there, of a warp or a warpgroup; the next one may start before"},
	memory:     {"global memory", "hundreds of cycles until the value is there, hidden by other warps; what counts is bytes and whether lanes are neighbours"},
	atomic:     {"atomic", "like global (or shared) memory, and lanes that hit one address queue up"},
	barrier:    {"barrier", "waits for the slowest thread of the block, or for memory"},
}

// opcodeClasses classifies PTX instructions; the row with the longest prefix
// decides.
var opcodeClasses = map[string]class{
	"add": arithmetic, "sub": arithmetic, "mul": arithmetic, "mad": arithmetic, "fma": arithmetic, "neg": arithmetic, "abs": arithmetic,
	"min": arithmetic, "max": arithmetic, "and": arithmetic, "or": arithmetic, "xor": arithmetic, "not": arithmetic, "shl": arithmetic,
	"shr": arithmetic, "shf": arithmetic, "lop3": arithmetic, "setp": arithmetic, "set": arithmetic, "selp": arithmetic, "mov": arithmetic, "bra": arithmetic,
	"copysign": arithmetic, "prmt": arithmetic, "bfe": arithmetic, "bfi": arithmetic, "dp4a": arithmetic, "testp": arithmetic, "trap": arithmetic, "exit": arithmetic,
	"cvt.u64.u32": arithmetic, "cvt.s64.s32": arithmetic, "cvt.u32.u64": arithmetic, // moves of registers
	"cvt": slow, "popc": slow, "clz": slow, "brev": slow, "mul.lo.s64": slow, "mul.lo.u64": slow, "mul.hi": slow, "mad.lo.s64": slow,
	"ex2": slow, "lg2": slow, "rcp.approx": slow, "rsqrt.approx": slow, "sin.approx": slow, "cos.approx": slow, "tanh.approx": slow, "sqrt.approx": slow, "div.full": slow,
	"div": division, "rem": division, "sqrt": division, "rcp": division,
	"ld.shared": shared, "st.shared": shared, "ld.local": shared, "st.local": shared,
	"ld.global": memory, "st.global": memory, "ld": memory, "st": memory,
	"cp.async": memory, "cp.async.wait_all": barrier, "cp.async.bulk.wait_group": barrier, "mapa": exchange, "setmaxnreg": barrier, "mbarrier": barrier,
	"shfl": exchange, "vote": exchange, "match": exchange, "redux": exchange, "activemask": exchange,
	"mma": matrix, "wgmma": matrix, "ldmatrix": shared,
	"atom": atomic, "red": atomic,
	"bar": barrier, "barrier": barrier, "membar": barrier, "fence": barrier,
}

// classOf returns the class of an instruction.
func classOf(opcode string) (class, error) {
	for p := opcode; p != ""; {
		if c, ok := opcodeClasses[p]; ok {
			return c, nil
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return 0, fmt.Errorf("instruction %s has no cost class: add a row to opcodeClasses", opcode)
}

// cost describes a sequence of instructions by its most expensive one.
func cost(opcodes []string) (string, error) {
	top := free
	for _, op := range opcodes {
		c, err := classOf(op)
		if err != nil {
			return "", err
		}
		top = max(top, c)
	}
	switch n := len(opcodes); n {
	case 0:
		return classes[free].name, nil
	case 1:
		return classes[top].name, nil
	default:
		return classes[top].name + ", " + instructions(n), nil
	}
}

// instructions counts, roughly where a better optimiser would soon make an
// exact number wrong.
func instructions(n int) string {
	switch {
	case n <= 6:
		return fmt.Sprintf("%d instructions", n)
	case n <= 50:
		n = (n + 2) / 5 * 5
	default:
		n = (n + 5) / 10 * 10
	}
	return fmt.Sprintf("about %d instructions", n)
}
