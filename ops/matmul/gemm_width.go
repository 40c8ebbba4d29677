package matmul

import "github.com/gokiln/kiln/dsl/tile"

// How many columns tiles of warpgroups are narrower by, and for what share of the time it pays to
// compile a kernel for tiles of other columns.
const (
	columnStep  = 16
	leastGained = 0.03
)

// tileOverhead is what a tile takes besides its steps along k, in columns of tiles times elements
// along k: 1500 cycles where one step of 64 elements and 256 columns takes 260 (of ncu, on an H200).
const tileOverhead = 1500 * 256 * 64 / 260

// narrow takes columns off the tiles of warpgroups where all of them take less time then, because the
// last round of tiles on all multiprocessors has few of them, or the only one leaves many idle (wave
// quantization). Tiles of k divided are as they are: k is divided to fill the rounds.
func (p *Problem) narrow(c *tile.Config) {
	if !p.Warpgroups || !ByWarpgroups(c) || present(p.up) || p.scales != nil || !p.undivided(c) {
		return
	}
	if order, _ := p.order(2, int(c.N)); order != tile.AlongK {
		return
	}
	best, least := *c, p.roundsTime(c)*(1-leastGained)
	for try := *c; try.N > c.N/2+columnStep; {
		try.N -= columnStep
		if time := p.roundsTime(&try); time < least {
			best, least = try, time
		}
	}
	*c = best
}

// undivided reports whether no tile is divided along k.
func (p *Problem) undivided(c *tile.Config) bool {
	blocks := p.tiles(c)
	return p.parts(blocks, c) == 1 && p.K <= p.run()
}

// roundsTime estimates what all rounds of tiles take, in columns.
func (p *Problem) roundsTime(c *tile.Config) float64 {
	units := p.Info.Units / int(max(c.Cluster, 1)) * int(max(c.Cluster, 1))
	rounds := (p.tiles(c) + units - 1) / units
	return float64(rounds) * (float64(c.N) + tileOverhead/float64(max(p.K, 1)))
}
