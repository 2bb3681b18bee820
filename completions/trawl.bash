# bash completion for trawl
# Written by tools/gen_cli_docs.py: do not edit.

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
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} options="" choices="" first=2

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		case $current in
		-*) _trawl_words "-h --help -V --version" "$current" ;;
		*) _trawl_words "report kernels ops steps ranges tables analyze prepare category check model platforms collectives path merge nsys sweep compare replay help" "$current" ;;
		esac
		return
	fi
	if [ "$command" = sweep ]; then
		if [ "$COMP_CWORD" -eq 2 ]; then
			_trawl_words "run report variance timestamps overlap merge plots aggregate all timeline trials -h --help" "$current"
			return
		fi
		command="sweep ${COMP_WORDS[2]}"
		first=3
	fi
	# "--format=j" comes as three words: --format, =, j.
	if [ "$current" = "=" ]; then
		current=
	elif [ "$previous" = "=" ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case "$command,$previous" in
	"report,--short-kernel-us" | "report,--micro-idle-us" | "report,--top-ops" | "report,--group-by" | "report,--table" | "report,--top" | "report,--sort" | "report,--columns" | "report,--map" | "report,--max-memory" | "report,--gpus-per-node" | "report,--step" | "report,--range" | "report,--start" | "report,--end" | "report,--device" | "report,-j" | "report,--jobs" | "kernels,--by" | "kernels,--top" | "kernels,--sort" | "kernels,--columns" | "kernels,--step" | "kernels,--range" | "kernels,--start" | "kernels,--end" | "kernels,--device" | "kernels,--map" | "kernels,--max-memory" | "kernels,--gpus-per-node" | "kernels,-j" | "kernels,--jobs" | "ops,--by" | "ops,--top" | "ops,--sort" | "ops,--columns" | "ops,--step" | "ops,--range" | "ops,--start" | "ops,--end" | "ops,--device" | "ops,--map" | "ops,--max-memory" | "ops,--gpus-per-node" | "ops,-j" | "ops,--jobs" | "steps,--top" | "steps,--sort" | "steps,--columns" | "steps,--step" | "steps,--range" | "steps,--start" | "steps,--end" | "steps,--device" | "steps,--map" | "steps,--max-memory" | "steps,--gpus-per-node" | "steps,-j" | "steps,--jobs" | "ranges,--top" | "ranges,--sort" | "ranges,--columns" | "ranges,--step" | "ranges,--range" | "ranges,--start" | "ranges,--end" | "ranges,--device" | "ranges,--map" | "ranges,--max-memory" | "ranges,--gpus-per-node" | "ranges,-j" | "ranges,--jobs" | "analyze,--node" | "analyze,--container" | "analyze,--model" | "analyze,--replay" | "analyze,--short-kernel-us" | "analyze,--micro-idle-us" | "analyze,--map" | "analyze,--max-memory" | "analyze,--gpus-per-node" | "analyze,--step" | "analyze,--range" | "analyze,--start" | "analyze,--end" | "analyze,--device" | "analyze,-j" | "analyze,--jobs" | "prepare,--short-kernel-us" | "prepare,--micro-idle-us" | "prepare,--step" | "prepare,--range" | "prepare,--start" | "prepare,--end" | "prepare,--device" | "prepare,-j" | "prepare,--jobs" | "check,-j" | "check,--jobs" | "model,--dims" | "model,--dtype" | "model,--concrete" | "model,--strides" | "model,--platform" | "model,--time-us" | "collectives,--map" | "collectives,--max-memory" | "collectives,--gpus-per-node" | "collectives,--step" | "collectives,--range" | "collectives,--start" | "collectives,--end" | "collectives,--device" | "collectives,-j" | "collectives,--jobs" | "path,--step" | "path,--scale" | "path,--remove" | "path,--rank" | "path,--busbw" | "path,--max-memory" | "path,--gpus-per-node" | "path,-j" | "path,--jobs" | "merge,-n" | "merge,--ranks" | "merge,--trace-name" | "merge,--gpus-per-node" | "merge,--max-memory" | "merge,-j" | "merge,--jobs" | "nsys,--rank" | "nsys,--by" | "nsys,--step" | "nsys,--range" | "nsys,--start" | "nsys,--end" | "nsys,--device" | "nsys,-j" | "nsys,--jobs" | "compare,--label1" | "compare,--label2" | "compare,--label" | "compare,--fail-on" | "compare,--sheets" | "compare,--threads" | "compare,--channels" | "compare,--ranks" | "compare,--max-memory" | "compare,--short-kernel-us" | "compare,--micro-idle-us" | "compare,--step" | "compare,--range" | "compare,--start" | "compare,--end" | "compare,--device" | "compare,-j" | "compare,--jobs" | "replay,--ops" | "sweep run,-c" | "sweep run,--channels" | "sweep run,-t" | "sweep run,--threads" | "sweep run,-p" | "sweep run,--nproc" | "sweep run,--timeout" | "sweep run,--retries" | "sweep run,--grace" | "sweep run,--pause" | "sweep run,--container" | "sweep report,--threads" | "sweep report,--channels" | "sweep report,--ranks" | "sweep report,--max-memory" | "sweep report,-j" | "sweep report,--jobs" | "sweep variance,--top-k" | "sweep variance,--threads" | "sweep variance,--channels" | "sweep variance,--ranks" | "sweep variance,--max-memory" | "sweep variance,-j" | "sweep variance,--jobs" | "sweep timestamps,--top-k" | "sweep timestamps,--tolerance" | "sweep timestamps,--threads" | "sweep timestamps,--channels" | "sweep timestamps,--ranks" | "sweep timestamps,--max-memory" | "sweep timestamps,-j" | "sweep timestamps,--jobs" | "sweep overlap,--top-k" | "sweep overlap,--threads" | "sweep overlap,--channels" | "sweep overlap,--ranks" | "sweep overlap,--max-memory" | "sweep overlap,-j" | "sweep overlap,--jobs" | "sweep merge,--threads" | "sweep merge,--channels" | "sweep merge,--ranks" | "sweep merge,--max-memory" | "sweep merge,-j" | "sweep merge,--jobs" | "sweep plots,--threads" | "sweep plots,--channels" | "sweep plots,--ranks" | "sweep plots,-j" | "sweep plots,--jobs" | "sweep aggregate,--threads" | "sweep aggregate,--channels" | "sweep aggregate,--ranks" | "sweep aggregate,--max-memory" | "sweep aggregate,-j" | "sweep aggregate,--jobs" | "sweep all,--top-k" | "sweep all,--threads" | "sweep all,--channels" | "sweep all,--ranks" | "sweep all,--max-memory" | "sweep all,-j" | "sweep all,--jobs" | "sweep timeline,--rank" | "sweep timeline,--start-step" | "sweep timeline,--num-steps" | "sweep timeline,--resolution" | "sweep timeline,-j" | "sweep timeline,--jobs" | "sweep trials,--top-n" | "sweep trials,--baseline" | "sweep trials,-j" | "sweep trials,--jobs")
		:
		return
		;;
	"report,--platform" | "report,--capture" | "kernels,--capture" | "ops,--capture" | "steps,--capture" | "ranges,--capture" | "analyze,--platform" | "analyze,--capture" | "prepare,--platform" | "collectives,--capture" | "path,--platform" | "merge,-o" | "merge,--output" | "nsys,--rules" | "compare,--xlsx" | "compare,--platform" | "compare,-o" | "compare,--output" | "sweep run,-f" | "sweep run,--config" | "sweep run,--rocprof-input" | "sweep variance,--output-csv" | "sweep timestamps,--input-csv" | "sweep timestamps,--output-csv" | "sweep overlap,--input-csv" | "sweep overlap,--output-csv" | "sweep plots,--input-csv" | "sweep timeline,-o" | "sweep timeline,--output")
		_trawl_files -f "$current"
		return
		;;
	"report,--stacks" | "compare,--stacks")
		_trawl_words "none modules full" "$current"
		return
		;;
	"report,--by" | "analyze,--by" | "prepare,--by" | "collectives,--by" | "compare,--by")
		_trawl_words "launch time" "$current"
		return
		;;
	"report,-o" | "report,--output" | "analyze,-o" | "analyze,--output" | "prepare,-o" | "prepare,--output" | "collectives,-o" | "collectives,--output" | "path,-o" | "path,--output" | "sweep run,-o" | "sweep run,--output-dir" | "sweep report,-o" | "sweep report,--output" | "sweep variance,-o" | "sweep variance,--output" | "sweep timestamps,-o" | "sweep timestamps,--output" | "sweep overlap,-o" | "sweep overlap,--output" | "sweep merge,-o" | "sweep merge,--output" | "sweep plots,-o" | "sweep plots,--output" | "sweep aggregate,-o" | "sweep aggregate,--output" | "sweep all,-o" | "sweep all,--output" | "sweep trials,-o" | "sweep trials,--output")
		_trawl_files -d "$current"
		return
		;;
	"report,--format" | "kernels,--format" | "ops,--format" | "steps,--format" | "ranges,--format" | "tables,--format" | "analyze,--format" | "prepare,--format" | "category,--format" | "check,--format" | "model,--format" | "platforms,--format" | "collectives,--format" | "path,--format" | "merge,--format" | "nsys,--format" | "compare,--format" | "replay,--format" | "sweep run,--format" | "sweep report,--format" | "sweep variance,--format" | "sweep timestamps,--format" | "sweep overlap,--format" | "sweep merge,--format" | "sweep plots,--format" | "sweep aggregate,--format" | "sweep all,--format" | "sweep timeline,--format" | "sweep trials,--format")
		_trawl_words "table csv json markdown schema jsonl text" "$current"
		return
		;;
	"collectives,--align" | "path,--align" | "merge,--align" | "sweep report,--align" | "sweep all,--align")
		_trawl_words "collectives base-time none" "$current"
		return
		;;
	"merge,--keep")
		_trawl_words "gpu all" "$current"
		return
		;;
	esac
	case $command in
	help) choices="report kernels ops steps ranges tables analyze prepare category check model platforms collectives path merge nsys sweep compare replay help --options" ;;
	"nsys") choices="setup windows streams overlap ranges findings rules" ;;
	esac
	case $command in
	"report") options="--linked-only --short-kernel-us --micro-idle-us --clip-overruns --platform --top-ops --plots --stacks --call-stack --group-by --no-python --each --table --top --sort --columns --capture --map --accept-count --no-xlsx --no-csv --max-memory --gpus-per-node --as-ranks --step --range --start --end --device --by -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"kernels") options="--by --top --sort --columns --step --range --start --end --device --capture --map --accept-count --max-memory --gpus-per-node --as-ranks -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"ops") options="--by --top --sort --columns --step --range --start --end --device --capture --map --accept-count --max-memory --gpus-per-node --as-ranks -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"steps") options="--top --sort --columns --step --range --start --end --device --capture --map --accept-count --max-memory --gpus-per-node --as-ranks -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"ranges") options="--top --sort --columns --step --range --start --end --device --capture --map --accept-count --max-memory --gpus-per-node --as-ranks -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"tables") options="--format -h --help" ;;
	"analyze") options="--node --container --model --replay --no-replay --no-plots --no-xlsx --linked-only --short-kernel-us --micro-idle-us --clip-overruns --platform --capture --map --accept-count --max-memory --gpus-per-node --as-ranks --step --range --start --end --device --by -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"prepare") options="--no-xlsx --linked-only --short-kernel-us --micro-idle-us --clip-overruns --platform --step --range --start --end --device --by -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"category") options="--format -h --help" ;;
	"check") options="-j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"model") options="--dims --dtype --concrete --strides --backward --platform --time-us --list --format -h --help" ;;
	"platforms") options="--format -h --help" ;;
	"collectives") options="--align --no-xlsx --no-csv --capture --map --accept-count --max-memory --gpus-per-node --as-ranks --step --range --start --end --device --by -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"path") options="--step --whole --scale --remove --rank --busbw --align --platform --no-xlsx --no-csv --max-memory --gpus-per-node --as-ranks -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"merge") options="-o --output -n --ranks --trace-name --keep --align --gpus-per-node --compat --max-memory -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"nsys") options="--rank --rules --by --compat --step --range --start --end --device -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"compare") options="--label1 --label2 --label --fail-on --xlsx --sheets --stacks --threads --channels --ranks --max-memory --linked-only --short-kernel-us --micro-idle-us --clip-overruns --platform --step --range --start --end --device --by -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"replay") options="--ops --format -h --help" ;;
	"sweep run") options="-c --channels -t --threads -f --config -o --output-dir -p --nproc -s --skip-existing -n --no-aggregate -r --rocprof -m --stats --rocprof-input --timeout --retries --grace --pause --container --dry-run -q --quiet -v --verbose --format -h --help" ;;
	"sweep report") options="--align --threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep variance") options="--top-k --output-csv --threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep timestamps") options="--top-k --input-csv --output-csv --tolerance --threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep overlap") options="--top-k --input-csv --output-csv --threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep merge") options="--threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep plots") options="--threads --channels --ranks --input-csv --svg -o --output -j --jobs -q --quiet --format -h --help" ;;
	"sweep aggregate") options="--threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep all") options="--top-k --no-plots --svg --align --threads --channels --ranks --max-memory -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep timeline") options="-o --output --rank --start-step --num-steps --text-only --resolution -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	"sweep trials") options="--top-n --baseline -o --output -j --jobs -q --quiet -v --verbose --format --strict -h --help" ;;
	esac
	case $current in
	-*) _trawl_words "$options" "$current" ;;
	*)
		if [ "$COMP_CWORD" -eq "$first" ] && [ -n "$choices" ]; then
			_trawl_words "$choices" "$current"
		else
			_trawl_files -f "$current"
		fi
		;;
	esac
}

complete -F _trawl trawl
