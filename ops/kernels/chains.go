package kernels

// A long sum is added in chains: of so many numbers, of so many sums of these, and so on, so
// that no chain of additions is much longer, whatever the length of the sum.
const (
	Chain      = 128
	chainDepth = 5 // sums of chains, of such sums and so on: enough for 2^36 numbers
)

// chained counts the additions of the chain at hand, and the chains.
type chained struct {
	long         bool // else the sum is one chain
	adds, chains int
}

// end returns where the part of a loop over low to high ends that is at most a chain.
func (n *chained) end(low, high int) int {
	if n.long {
		return min(low+Chain, high)
	}
	return high
}

// count counts additions to acc. What a complete chain came to goes to sums, which has chainDepth
// times as many elements, and what so many chains came to, further on. No index of sums is
// constant, so they are in memory and leave the registers to acc.
func count[C Computed](acc, sums []C, n *chained, adds int) {
	if n.adds += adds; !n.long || n.adds < Chain {
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

// join adds all sums to acc.
func join[C Computed](acc, sums []C, n *chained) {
	if n.long {
		for at := 0; at < len(sums); at += len(acc) {
			for i := range len(acc) {
				acc[i] += sums[at+i]
			}
		}
	}
}
