# Leaves of a compiler's command what makes the object: no launcher, quotes, spaces or warnings.
s/^.*ccache //
s/[\\"]//g
s/ -W[^ ]*//g
s/  */ /g
