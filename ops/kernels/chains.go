package kernels

// A long sum is added in chains: of so many numbers, of so many sums of these, and so on, so
// that no chain of additions is much longer, whatever the length of the sum.
const (
	Chain      = 128
	ChainDepth = 5 // sums of chains, of such sums and so on: enough for 2^36 numbers
)

// Chained counts the additions of the current chain, and the chains.
type Chained struct {
	Long         bool // else the sum is one chain
	adds, chains int
}

// End returns where the part of a loop over low to high ends that is at most a chain.
func (n *Chained) End(low, high int) int {
	if n.Long {
		return min(low+Chain, high)
	}
	return high
}

// CountAdds counts additions to acc. What a complete chain came to goes to sums, which has chainDepth
// times as many elements, and what so many chains came to, further on. No index of sums is
// constant, so they are in memory and leave the registers to acc.
func CountAdds[C Computed](acc, sums []C, n *Chained, adds int) {
	if n.adds += adds; !n.Long || n.adds < Chain {
		return
	}
	n.adds = 0
	n.chains++
	for at, chains := 0, n.chains; ; at += len(acc) {
		for i := range len(acc) {
			sums[at+i] += acc[i]
			acc[i] = 0
		}
		if chains%Chain != 0 {
			return
		}
		chains /= Chain
		for i := range len(acc) {
			acc[i], sums[at+i] = sums[at+i], 0
		}
	}
}

// JoinChains adds all sums to acc.
func JoinChains[C Computed](acc, sums []C, n *Chained) {
	if n.Long {
		for at := 0; at < len(sums); at += len(acc) {
			for i := range len(acc) {
				acc[i] += sums[at+i]
			}
		}
	}
}

// TreeSteps is how many steps of a long sum are added one by one before their sum is
// added to that of those before. The error of a sum grows with the longest chain of additions:
// two levels of so many steps are TreeSteps² elements of a thread, or more with vectors.
const TreeSteps = 32
