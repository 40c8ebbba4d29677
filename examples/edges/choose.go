package main

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/edges/kernels"
)

// maxSigma is the largest blur whose weights fit into the kernels' tiles.
const maxSigma = kernels.MaxRadius / 3.0

// gaussian returns the weights of a normal distribution at distances 0, 1, … up
// to three standard deviations. Both sides together add up to one. It uses the
// exponential of package dsl, which gives the same bits on every machine; that
// of package math does not.
func gaussian(sigma float64) ([]float32, error) {
	if !(sigma >= 0 && sigma <= maxSigma) { // NaN is neither
		return nil, fmt.Errorf("sigma %g: want 0 (no blur) to %.4g: the kernels reach %d pixels to each side, three sigma; "+
			"make the picture smaller for more", sigma, maxSigma, kernels.MaxRadius)
	}
	radius := int(dsl.Ceil(3 * sigma))
	exact := make([]float64, radius+1)
	sum := 0.0
	for k := range exact {
		exact[k] = 1
		if k > 0 {
			z := float64(k) / sigma
			exact[k] = dsl.Exp(-z * z / 2)
			sum += exact[k]
		}
		sum += exact[k]
	}
	weights := make([]float32, radius+1)
	for k := range weights {
		weights[k] = float32(exact[k] / sum)
	}
	return weights, nil
}

// minThreshold is a gradient that no eye takes for an edge: an eighth of it is
// the difference of brightness from pixel to pixel.
const minThreshold = 8

// threshold divides gradients into those of edges and the rest by Otsu's
// method: where the means of the two are farthest apart, weighted by how many
// there are (A Threshold Selection Method from Gray-Level Histograms, 1979).
func threshold(counts []uint32) float32 {
	var total, weighted float64
	for b, n := range counts {
		total += float64(n)
		weighted += float64(float64(b) * float64(n))
	}
	best, at := 0.0, 0
	var below, weightedBelow float64
	for b, n := range counts {
		below += float64(n)
		weightedBelow += float64(float64(b) * float64(n))
		above := total - below
		if below == 0 || above == 0 {
			continue
		}
		apart := weightedBelow/below - (weighted-weightedBelow)/above
		if between := apart * apart * (below / total) * (above / total); between > best {
			best, at = between, b+1
		}
	}
	return float32(max(at, minThreshold))
}
