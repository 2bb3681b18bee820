# bash completion for trawl
# Checked against "trawl help" by tools/check_cli_docs.py.

_trawl_files() {
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	# shellcheck disable=SC2207 # names may hold blanks: split at line ends only
	COMPREPLY=($(compgen "$1" -- "$2"))
}

_trawl_words() {
	# shellcheck disable=SC2207 # words of ours
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_trawl() {
	local commands="report analyze prepare category check model platforms collectives merge nsys sweep compare replay help"
	local common="-j --jobs -q --quiet -v --verbose -h --help --format --strict"
	local analysing="--step --range --start --end --device --by --linked-only --short-kernel-us
		--micro-idle-us --clip-overruns --platform"
	local report="--top-ops --plots --no-xlsx --no-csv --max-memory --gpus-per-node"
	local analyze="--node --container --model --replay --no-replay --no-plots --no-xlsx"
	local part="--step --range --start --end --device --by"
	local collectives="--align --gpus-per-node --max-memory --no-xlsx --no-csv"
	local tables="-h --help --format"
	local model="--dims --dtype --concrete --strides --backward --platform --time-us --list"
	local merge="-n --ranks --trace-name --keep --align --gpus-per-node --compat --max-memory"
	local nsys="--rank --start --end --rules --by --compat --step --range --device"
	local stages="run report variance timestamps overlap merge plots aggregate all timeline trials"
	local sweep="-o --output --threads --channels --ranks --max-memory"
	local run="-c --channels -t --threads -f --config -o --output-dir -p --nproc -s --skip-existing
		-n --no-aggregate -r --rocprof -m --stats --rocprof-input --timeout --retries --grace
		--pause --container --dry-run"
	local compare="--label1 --label2 --fail-on --xlsx --sheets --threads --channels --ranks --max-memory"
	local queries="setup windows streams overlap ranges rules"
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command="" stage="" word

	COMPREPLY=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		report | analyze | prepare | category | check | model | platforms | collectives | merge | nsys | sweep | compare | replay | help)
			command=$word
			break
			;;
		esac
	done
	if [ "$command" = sweep ] && [ "$COMP_CWORD" -gt 2 ]; then
		stage=${COMP_WORDS[2]}
	fi

	# "--format=j" comes as three words: --format, =, j.
	if [ "$current" = "=" ]; then
		current=
	elif [ "$previous" = "=" ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $previous in
	-o | --output)
		if [ "$command" = merge ] || [ "$command" = compare ]; then
			_trawl_files -f "$current"
		else
			_trawl_files -d "$current"
		fi
		return
		;;
	--keep)
		_trawl_words "gpu all" "$current"
		return
		;;
	--align)
		_trawl_words "collectives base-time none" "$current"
		return
		;;
	--platform | --rules | --xlsx | --input-csv | --output-csv | --config | --rocprof-input)
		_trawl_files -f "$current"
		return
		;;
	--format)
		_trawl_words "table csv json markdown" "$current"
		return
		;;
	-j | --jobs | --step | --range | --start | --end | --device | --by | --short-kernel-us | --micro-idle-us | --top-ops | \
		--max-memory | --gpus-per-node | --threads | --channels | --top-k | --tolerance | --nproc | \
		--timeout | --retries | --grace | --pause | --start-step | --num-steps | --resolution | --top-n | --baseline | \
		--label1 | --label2 | --fail-on | --sheets | \
		--dims | --dtype | --concrete | --strides | --time-us | --rank | --node | --container | --model | --replay | --ops | \
		-n | --ranks | --trace-name)
		return
		;;
	esac

	case $command in
	"")
		case $current in
		-*) _trawl_words "-h --help -V --version" "$current" ;;
		*) _trawl_words "$commands" "$current" ;;
		esac
		;;
	help) _trawl_words "$commands" "$current" ;;
	*)
		case $current in
		-*)
			case $command in
			report) _trawl_words "$common -o --output $analysing $report" "$current" ;;
			analyze) _trawl_words "$common -o --output $analysing $analyze" "$current" ;;
			collectives) _trawl_words "$common -o --output $part $collectives" "$current" ;;
			prepare) _trawl_words "$common -o --output $analysing --no-xlsx" "$current" ;;
			category) _trawl_words "$tables" "$current" ;;
			check) _trawl_words "$common" "$current" ;;
			model) _trawl_words "$tables $model" "$current" ;;
			platforms) _trawl_words "$tables" "$current" ;;
			merge) _trawl_words "$common -o --output $merge" "$current" ;;
			nsys) _trawl_words "$common $nsys" "$current" ;;
			replay) _trawl_words "$tables --ops" "$current" ;;
			compare) _trawl_words "$common -o --output $analysing $compare" "$current" ;;
			sweep)
				case $stage in
				run) _trawl_words "-q --quiet -v --verbose -h --help --format $run" "$current" ;;
				report) _trawl_words "$common $sweep --align" "$current" ;;
				variance) _trawl_words "$common $sweep --top-k --output-csv" "$current" ;;
				timestamps) _trawl_words "$common $sweep --top-k --input-csv --output-csv --tolerance" "$current" ;;
				overlap) _trawl_words "$common $sweep --top-k --input-csv --output-csv" "$current" ;;
				merge | aggregate) _trawl_words "$common $sweep" "$current" ;;
				plots) _trawl_words "-j --jobs -q --quiet -h --help --format -o --output --threads --channels --ranks --input-csv --svg" "$current" ;;
				all) _trawl_words "$common $sweep --top-k --no-plots --svg --align" "$current" ;;
				timeline) _trawl_words "$common -o --output --rank --start-step --num-steps --text-only --resolution" "$current" ;;
				trials) _trawl_words "$common -o --output --top-n --baseline" "$current" ;;
				esac
				;;
			esac
			;;
		*)
			case $command,$previous in
			nsys,nsys) _trawl_words "$queries" "$current" ;;
			sweep,sweep) _trawl_words "$stages" "$current" ;;
			*) _trawl_files -f "$current" ;;
			esac
			;;
		esac
		;;
	esac
}

complete -F _trawl trawl
