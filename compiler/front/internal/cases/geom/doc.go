// Package geom is a kernel package that other kernel packages use.
package geom
