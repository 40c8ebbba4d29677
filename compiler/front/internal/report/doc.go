// Package report collects what one compilation has to say of its source.
package report
