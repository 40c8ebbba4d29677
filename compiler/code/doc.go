// Package code has what is known of compiled kernels: an [Artifact] and what a launch needs
// to know of it, the [Options] and the [Version] that are part of its key, and which code
// devices load. A program that loads kernels and compiles none needs no more of the
// compiler than this.
package code
