// Package curve draws losses as a PNG.
package curve
