"use strict";
/* Sorts and filters the tables of the page, which are whole without it. */
document.querySelectorAll("table.data").forEach(function (table) {
	var body = table.tBodies[0];
	var rows = Array.prototype.slice.call(body.rows);
	var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
	var shown = Number(table.dataset.shown) || rows.length;
	var all = shown >= rows.length;
	var wanted = "";
	var tools, count, more;

	/* Numbers by their exact value, texts as people order them; what is not there is null. */
	function key(row, column) {
		var cell = row.cells[column];
		if (heads[column].classList.contains("n")) {
			return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
		}
		return cell.textContent === "" ? null : cell.textContent;
	}

	function show() {
		var matching = 0, visible = 0;
		rows.forEach(function (row) {
			var fits = !wanted || row.textContent.toLowerCase().indexOf(wanted) >= 0;
			matching += fits;
			row.hidden = !fits || (!all && visible >= shown);
			visible += !row.hidden;
		});
		if (count) {
			count.textContent = visible + " of " + rows.length + " rows";
			more.hidden = all || matching <= shown;
			more.textContent = "Show all " + matching;
		}
	}

	function sort(column) {
		var head = heads[column];
		var number = head.classList.contains("n");
		var before = head.getAttribute("aria-sort");
		var down = before === "none" ? number : before === "ascending";
		var keys = new Map();

		heads.forEach(function (other) { other.setAttribute("aria-sort", "none"); });
		head.setAttribute("aria-sort", down ? "descending" : "ascending");
		rows.forEach(function (row) { keys.set(row, key(row, column)); });
		rows.sort(function (a, b) {
			var x = keys.get(a), y = keys.get(b), order;
			if (x === null || y === null) {
				return (x === null) - (y === null);
			}
			order = number ? x - y : x.localeCompare(y, "en", { numeric: true });
			return down ? -order : order;
		});
		rows.forEach(function (row) { body.appendChild(row); });
		show();
	}

	function add(name, text) {
		var element = document.createElement(name);
		element.textContent = text;
		tools.appendChild(element);
		return element;
	}

	heads.forEach(function (head, column) {
		var button = document.createElement("button");
		button.type = "button";
		button.textContent = head.textContent;
		button.addEventListener("click", function () { sort(column); });
		head.textContent = "";
		head.appendChild(button);
		head.setAttribute("aria-sort", "none");
	});
	if (rows.length > 8) {
		tools = document.createElement("div");
		tools.className = "tools";
		var label = add("label", "Filter: "), input = document.createElement("input");
		input.type = "search";
		input.addEventListener("input", function () {
			wanted = input.value.toLowerCase();
			show();
		});
		label.appendChild(input);
		count = add("span", "");
		count.setAttribute("role", "status");
		more = add("button", "");
		more.type = "button";
		more.addEventListener("click", function () {
			all = true;
			show();
		});
		table.parentNode.parentNode.insertBefore(tools, table.parentNode);
	}
	show();
});
